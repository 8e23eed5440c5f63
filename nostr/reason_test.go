package nostr

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusalOf(t *testing.T) {
	low := Refuse(PrefixPoW, "low")
	for _, tt := range []struct {
		err         error
		want, class string
	}{
		{Refuse(PrefixBlocked, "no %s", "spam"), "blocked: no spam", "blocked: no spam"},
		{fmt.Errorf("line 7: %w", low), "pow: low", "pow: low"},
		{fmt.Errorf("line 7: %w", low.With("%d of %d", 3, 8)), "pow: 3 of 8", "pow: low"},
		{low.With("%d", 3).With("%d", 4), "pow: 4", "pow: low"},
		{BadKind, "invalid: " + string(BadKind), "invalid: " + string(BadKind)},
		{fmt.Errorf("line 7: %w", &SyntaxError{What: "a value must stand here", Offset: 3}),
			"invalid: not valid JSON at byte 3: a value must stand here", "invalid: not valid JSON"},
		{errors.New("open /secret/path"), "error: internal error", "error: internal error"},
	} {
		r := RefusalOf(tt.err)
		if got := r.Error(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
		if got := r.Class(); got != tt.class {
			t.Errorf("%v: class %q, want %q", tt.err, got, tt.class)
		}
	}
}
