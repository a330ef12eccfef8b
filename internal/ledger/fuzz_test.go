package ledger_test

import (
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// FuzzQuery holds whatever a client sends: reading ends, and what was read is read again from its own form.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{
		"", "limit=5", "limit=-1", "limit=99999999999999999999", "kind=pods", "since=1h", "since=2026-01-02T15:04:05Z", "since=2026-01-02T15:04:05%2B14:00",
		"node=a&nodeclaim=b&nodepool=c", "after=18446744073709551615", "kind=nodeclaim&kind=command", "node=%00%ff", "a;b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := url.ParseQuery(text)
		if err != nil {
			return
		}
		query, err := ledger.ParseQuery(values)
		if err != nil {
			return
		}
		again, err := ledger.ParseQuery(query.Values())
		if err != nil || !cmp.Equal(query.Values(), again.Values()) {
			t.Errorf("%q is read as %v, and then as %v: %v", text, query.Values(), again.Values(), err)
		}
	})
}

// FuzzDecode holds whatever a file or a controller has: reading a record ends, and it can be summed up.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{"", "null", "{}", `{"kind":"command","command":{}}`, `{"kind":"nodeclaim","nodeClaim":{"price":-1}}`, `{"v":999}`, `{"kind":"fleet","fleet":{}}`, `{"kind":"plan"}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(_ *testing.T, line []byte) {
		if r, err := ledger.Decode(line); err == nil {
			_ = r.Summary()
		}
	})
}
