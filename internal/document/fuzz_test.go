package document

import (
	"io"
	"testing"
)

// FuzzPath holds whatever the template is: it is refused, or writing a document with it ends.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"{.state}", "{", "{..a}", "{.items[*].name}", "{range .items[*]}{.name}{end}", "{.items[?(@.a==1)]}", "{.items[-1:0:1]}", "{.a[99999999999999999999]}", "{end}", "{range}"} {
		f.Add(seed)
	}
	document := []byte(`{"state":"ok","items":[{"name":"a","a":1},{"name":"b"},null,[1,"x"]]}`)
	f.Fuzz(func(_ *testing.T, template string) {
		if CheckPath(Format(PathPrefix+template)) == nil {
			_ = writePath(io.Discard, document, template) // an error is an answer
		}
	})
}
