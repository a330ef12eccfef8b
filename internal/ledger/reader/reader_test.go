package reader_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/reader"
	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
)

// quiet is a segment.Report.
type quiet struct{}

func (quiet) Damaged(segment.Damage) {}
func (quiet) Written(int64)          {}
func (quiet) Lost(int, error)        {}
func (quiet) Recovered()             {}

// written is a directory with a start and two NodeClaims.
func written(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	w, next, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 20, After: time.After, Report: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	l := ledger.New(func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) }, 0, nil)
	l.Begin(ledger.Start{Run: "r"}, w, next)
	for _, name := range []string{"a", "b"} {
		l.Append(ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Deleting, NodeClaimState: ledger.NodeClaimState{Name: name}}})
	}
	ctx, end := context.WithCancel(t.Context())
	end() // the writer writes what waits, and returns
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	return dir
}

// broken changes a byte in the last record of a directory.
func broken(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.ledger"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)-2] ^= 1
	if err := os.WriteFile(files[0], text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestDirSaysWhatIsDamaged(t *testing.T) {
	dir := written(t)
	d := reader.NewDir(dir)
	lines, cover, err := d.Read(t.Context(), ledger.Filter{NodeClaim: "b"})
	if err != nil || len(lines) != 2 || cover.First != 1 || cover.Last != 3 || len(cover.Unreadable) != 0 {
		t.Fatalf("%s %+v %v", lines, cover, err)
	}
	broken(t, dir)
	for _, after := range []uint64{0, 2} { // the second answer has no record, and the damage nevertheless
		lines, cover, err = d.Read(t.Context(), ledger.Filter{After: after})
		if err != nil || len(lines) != 2-int(after) || cover.Last != 2 || len(cover.Unreadable) != 1 || !strings.Contains(cover.Unreadable[0], "checksum") {
			t.Errorf("after %d: %s %+v %v", after, lines, cover, err)
		}
	}
	if _, _, err := reader.NewDir(filepath.Join(dir, "none")).Read(t.Context(), ledger.Filter{}); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("a directory that does not exist: %v", err)
	}
}

func TestClientSendsItsTokenOverTLSOnly(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	heard := ""
	answer := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		heard = r.Header.Get("Authorization") + " " + r.URL.RequestURI()
		_, _ = w.Write([]byte(`{"leader": true, "coverage": {"first": 1, "last": 4}, "records": [{"seq": 4}]}`))
	})
	open, closed := httptest.NewServer(answer), httptest.NewTLSServer(answer)
	defer open.Close()
	defer closed.Close()
	if _, _, err := (&reader.Client{Address: open.URL, TokenFile: token}).Read(t.Context(), ledger.Filter{}); err == nil || !strings.Contains(err.Error(), "https://") || heard != "" {
		t.Errorf("a token without TLS: %v, and the server heard %q", err, heard)
	}
	if _, _, err := (&reader.Client{Address: closed.URL, TokenFile: token}).Read(t.Context(), ledger.Filter{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a certificate that nothing trusts: %v", err)
	}
	lines, cover, err := (&reader.Client{Address: closed.URL + "/", TokenFile: token, Insecure: true}).Read(t.Context(), ledger.Filter{After: 3})
	if err != nil || len(lines) != 1 || cover.Last != 4 || heard != "Bearer secret "+ledger.Path+"?after=3" {
		t.Errorf("%s %+v %v, and the server heard %q", lines, cover, err, heard)
	}
}
