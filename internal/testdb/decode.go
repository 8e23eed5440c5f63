package testdb

import (
	"encoding/json"
	"strconv"
)

// Decode reads the JSON of an event. It panics where that is broken: an
// oracle is asked about test data only.
func Decode(line []byte) (e Event) {
	mustDecode(line, &e)
	return e
}

// A Filter is a filter in plain Go (NIP-01). Lists holds its ids, authors,
// kinds (as decimal text) and #x under the names that JSON has for them.
type Filter struct {
	Lists               map[string][]string
	Since, Until, Limit *int64
}

// DecodeFilter reads the JSON of a filter, and panics as [Decode] does.
func DecodeFilter(filter []byte) Filter {
	var fields map[string]json.RawMessage
	mustDecode(filter, &fields)
	f := Filter{Lists: map[string][]string{}}
	numbers := map[string]**int64{"since": &f.Since, "until": &f.Until, "limit": &f.Limit}
	for name, value := range fields {
		if number, ok := numbers[name]; ok {
			mustDecode(value, number)
			continue
		}
		var list []any
		mustDecode(value, &list)
		f.Lists[name] = []string{}
		for _, v := range list {
			if n, ok := v.(float64); ok {
				v = strconv.Itoa(int(n))
			}
			f.Lists[name] = append(f.Lists[name], v.(string))
		}
	}
	return f
}

func mustDecode(b []byte, v any) {
	if err := json.Unmarshal(b, v); err != nil {
		panic("testdb: " + string(b) + ": " + err.Error())
	}
}
