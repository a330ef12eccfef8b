package ledger

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// ledgerText runs "karpenter ledger" without the environment of the host.
func ledgerText(args ...string) commandtest.Outcome {
	var line struct {
		Ledger Command `cmd:""`
	}
	return commandtest.Run(&line, "", append([]string{"ledger"}, args...)...)
}

// TestLedgerSaysWhatIsMissing: gaps are told on standard error.
func TestLedgerSaysWhatIsMissing(t *testing.T) {
	dir := t.TempDir()
	w, next, err := segment.Open(segment.Settings{Dir: dir, Total: 1 << 30, After: time.After, Report: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range []ledger.Record{
		{Kind: ledger.KindStart, Start: &ledger.Start{Run: "r", Controller: "v1"}},
		{Kind: ledger.KindNodeClaim, Lost: 7, NodeClaim: &ledger.NodeClaimEvent{Event: ledger.Deleting, NodeClaimState: ledger.NodeClaimState{Name: "a"}}},
		{Kind: ledger.KindFleet, Cut: map[string]int{"nodeclaims": 3}, Fleet: &ledger.Fleet{Part: 1, Parts: 1}},
	} {
		r.Version, r.Seq, r.Time = ledger.Version, next+uint64(i)+7, time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
		line, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		w.Offer(r.Seq, line)
	}
	w.Offer(next+10, []byte("no JSON"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Run(ctx); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.ledger"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files[0], append(text, 1, 2, 3), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ledgerText("--dir", dir)
	if got.Exit != "0\n" {
		t.Fatalf("exit code %s%s", got.Exit, got.Stderr)
	}
	table, notes := got.Stdout, got.Stderr
	want := `TIME                  SEQ  KIND       WHAT
2026-01-02T03:04:05Z  8    start      became the leader (version v1, run r)
2026-01-02T03:04:05Z  9    nodeclaim  a deleting
2026-01-02T03:04:05Z  10   fleet      lists 0 nodeclaims (part 1 of 1); 3 of nodeclaims left out
`
	if table != want {
		t.Errorf("it prints\n%s", table)
	}
	if got, want := ledgerText("--dir", dir, "-o", "jsonpath={.seq} {.kind}"), "8 start\n9 nodeclaim\n10 fleet\n"; got.Stdout != want {
		t.Errorf("the template prints %q, want %q: %s", got.Stdout, want, got.Stderr)
	}
	for _, want := range []string{
		"7 records could not be written to disk and are missing", "the oldest record is number 8 of 2026-01-02T03:04:05Z",
		"ignoring the incomplete end of the newest segment", "1 of these records were too large",
		"leaving out records that cannot be read, 1 of them; the first: reading a record: invalid character",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("the notes lack %q:\n%s", want, notes)
		}
	}
}

// quiet is a segment.Report.
type quiet struct{}

func (quiet) Damaged(segment.Damage) {}
func (quiet) Written(int64)          {}
func (quiet) Lost(int, error)        {}
func (quiet) Recovered()             {}

func TestLedgerRefusesBadValues(t *testing.T) {
	for args, want := range map[string]string{
		"--dir=/x --address=http://y":           "cannot be used together",
		"--dir=/nowhere/at/all":                 "no such file",
		"--dir=. --kind=pods":                   `flag --kind="pods": there is no kind "pods"; allowed: start, fleet`,
		"--dir=. --kind=":                       `flag --kind="": the name of a kind is empty; allowed: start, fleet`,
		"--dir=. --kind=start,":                 `flag --kind="start,": the name of a kind is empty; allowed: start, fleet`,
		"--dir=. --limit=x":                     `flag --limit="x": must be a whole number`,
		"--dir=. --since=yesterday":             "neither a duration such as 90m nor a time",
		"--dir=. --limit=-1":                    "--limit must not be negative",
		"--dir=. --since=1h --until=2h":         "--since has to be before --until",
		"--dir=. --since=0s --until=2h":         "--since has to be before --until",
		"--address=http://127.0.0.1:1":          "asking the controller",
		"--address=http://x --token-file=/none": "reading the token file: open /none",
	} {
		exit := "2\n"
		if strings.Contains(args, "nowhere") || strings.Contains(args, "--address=") && !strings.Contains(args, "--dir") {
			exit = "1\n"
		}
		if got := ledgerText(strings.Fields(args)...); got.Exit != exit || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s ends with %s and\n%s", args, got.Exit, got.Stderr)
		}
	}
}
