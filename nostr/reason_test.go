package nostr

import (
	"errors"
	"fmt"
	"testing"
)

func TestRefusalOf(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{Refuse(PrefixBlocked, "no %s", "spam"), "blocked: no spam"},
		{fmt.Errorf("line 7: %w", Refuse(PrefixPoW, "low")), "pow: low"},
		{fmt.Errorf("line 7: %w", &SyntaxError{What: "a value must stand here", Offset: 3}), "invalid: not valid JSON at byte 3: a value must stand here"},
		{errors.New("open /secret/path"), "error: internal error"},
	} {
		if got := RefusalOf(tt.err).Error(); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, got, tt.want)
		}
	}
}
