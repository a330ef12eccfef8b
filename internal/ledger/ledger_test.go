package ledger_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
	"github.com/karpenter-anew/karpenter/internal/ledger"
)

// at is a moment, so many minutes after an arbitrary one.
func at(minutes int) time.Time {
	return time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC).Add(time.Duration(minutes) * time.Minute)
}

// ticking is a clock that advances by a minute with each reading.
func ticking() func() time.Time {
	n := -1
	return func() time.Time { n++; return at(n) }
}

// began is a ledger whose first record is a start, at minute 0.
func began(memory int64, report ledger.Reporter) *ledger.Ledger {
	l := ledger.New(ticking(), memory, report)
	l.Begin(ledger.Start{Run: "r"}, nil, 1)
	return l
}

// read returns the records of a ledger.
func read(t *testing.T, l *ledger.Ledger, f ledger.Filter) ([]ledger.Record, ledger.Coverage) {
	t.Helper()
	lines, cover, err := l.Read(f)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]ledger.Record, len(lines))
	for i, line := range lines {
		if out[i], err = ledger.Decode(line); err != nil {
			t.Fatal(err)
		}
	}
	return out, cover
}

func event(phase ledger.Phase, name string) ledger.Record {
	return ledger.Record{Kind: ledger.KindNodeClaim, NodeClaim: &ledger.NodeClaimEvent{
		Event: phase, NodeClaimState: ledger.NodeClaimState{Name: name, NodePool: "default"},
	}}
}

func TestRecordsAreNumberedAndReadBack(t *testing.T) {
	l := ledger.New(ticking(), 1<<20, nil)
	early, sent := event(ledger.Created, "a"), event(ledger.Launched, "a")
	sent.NodeClaim.Price = ledger.Known(0.25, true)
	l.Append(early)
	if got, _ := read(t, l, ledger.Filter{}); len(got) != 0 {
		t.Errorf("%d records are there before the term", len(got))
	}
	l.Begin(ledger.Start{Run: "r"}, nil, 1)
	l.Append(sent)
	got, cover := read(t, l, ledger.Filter{})
	early.Version, early.Seq, early.Time = 1, 2, at(0)
	sent.Version, sent.Seq, sent.Time = 1, 3, at(2)
	want := []ledger.Record{{Version: 1, Seq: 1, Time: at(1), Kind: ledger.KindStart, Start: &ledger.Start{Run: "r"}}, early, sent}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(ledger.Coverage{First: 1, Last: 3, Oldest: at(1)}, cover); diff != "" {
		t.Error(diff)
	}
}

func TestMemoryIsLimited(t *testing.T) {
	seen := &sizes{}
	const limit = 10_000
	l := began(limit, seen)
	for i := range 199 {
		l.Append(event(ledger.Created, fmt.Sprint("claim-", i)))
	}
	got, cover := read(t, l, ledger.Filter{})
	if seen.most > limit || seen.most < limit/2 {
		t.Errorf("the ledger took %d bytes of %d", seen.most, limit)
	}
	if cover.Dropped+uint64(len(got)) != 200 || cover.Dropped != uint64(seen.dropped) || cover.Dropped == 0 {
		t.Errorf("%d records are there, %d are dropped, %d are reported as dropped", len(got), cover.Dropped, seen.dropped)
	}
	if cover.Last != 200 || cover.First != cover.Dropped+1 {
		t.Errorf("the records are those from %d to %d", cover.First, cover.Last)
	}
	l = began(0, nil)
	l.Append(event(ledger.Created, "a"))
	if got, cover := read(t, l, ledger.Filter{}); len(got) != 0 || cover.Last != 0 {
		t.Errorf("a ledger without memory has %d records", len(got))
	}
}

// sizes is a Reporter.
type sizes struct {
	mu      sync.Mutex
	most    int64
	dropped int
	failed  int
}

func (s *sizes) Appended(ledger.Kind, int) {}

func (s *sizes) Kept(bytes int64, dropped int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most, s.dropped = max(s.most, bytes), s.dropped+dropped
}

func (s *sizes) Failed(ledger.Kind, error) { s.failed++ }

func TestLargeRecordsAreCutAndSayHowMuch(t *testing.T) {
	l := began(64<<20, nil)
	nodes := make([]string, 60_000)
	for i := range nodes {
		nodes[i] = fmt.Sprintf("node-with-a-long-name-%d", i)
	}
	short := []string{"one"}
	sent := &ledger.Disruption{Full: true, LeftAlone: []ledger.LeftAlone{
		{Method: "emptiness", Code: string(disrupt.NotEmpty), Count: len(nodes), Nodes: nodes}, {Method: "drift", Code: string(disrupt.NotDrifted), Count: 1, Nodes: short},
	}}
	l.Append(ledger.Record{Kind: ledger.KindDisruption, Disruption: sent})
	lines, _, err := l.Read(ledger.Filter{})
	if err != nil || len(lines) != 2 || len(lines[1]) > 1<<20 {
		t.Fatalf("%d records, the last has %d bytes: %v", len(lines), len(lines[len(lines)-1]), err)
	}
	r, err := ledger.Decode(lines[1])
	if err != nil {
		t.Fatal(err)
	}
	kept := len(r.Disruption.LeftAlone[0].Nodes)
	if r.Cut["leftAlone.nodes"] != len(nodes)-kept || kept == 0 || kept == len(nodes) {
		t.Errorf("%d of %d nodes are kept, and %v are said to be cut", kept, len(nodes), r.Cut)
	}
	if len(r.Disruption.LeftAlone[1].Nodes) != 1 || r.Disruption.LeftAlone[0].Count != len(nodes) {
		t.Errorf("more than the longest list was cut: %d", len(r.Disruption.LeftAlone[1].Nodes))
	}
	if len(sent.LeftAlone[0].Nodes) != len(nodes) {
		t.Error("the record of the caller was changed")
	}
}

func TestRecordsThatCannotBeEncodedAreReported(t *testing.T) {
	seen := &sizes{}
	l := began(1<<20, seen)
	l.Append(ledger.Record{Kind: ledger.KindProvisioning, Provisioning: &ledger.Provisioning{Pass: ledger.Pass{Cost: &ledger.Cost{After: math.Inf(1)}}}})
	if got, _ := read(t, l, ledger.Filter{}); len(got) != 1 || seen.failed != 1 {
		t.Errorf("%d records, %d failures", len(got), seen.failed)
	}
	if ledger.Known(math.NaN(), true) != nil || ledger.Known(1, false) != nil {
		t.Error("a price that is not known, or not a number, is one")
	}
}

// disk is a Sink.
type disk struct {
	full  bool
	lost  uint64
	lines [][]byte
}

func (d *disk) Offer(_ uint64, line []byte) bool {
	if !d.full {
		d.lines = append(d.lines, line)
	}
	return !d.full
}

func (d *disk) TakeLost() uint64 {
	n := d.lost
	d.lost = 0
	return n
}

func TestRecordsSayHowManyBeforeThemAreNotOnDisk(t *testing.T) {
	d := &disk{}
	l := ledger.New(ticking(), 1<<20, nil)
	l.Begin(ledger.Start{Run: "r"}, d, 99)
	l.Append(event(ledger.Created, "a"))
	d.full = true
	l.Append(event(ledger.Created, "b"))
	l.Append(event(ledger.Created, "c"))
	d.full, d.lost = false, 3 // taken earlier, and not written
	l.Append(event(ledger.Created, "d"))
	l.Append(event(ledger.Created, "e"))
	var got []string
	for _, line := range d.lines[1:] {
		r, err := ledger.Decode(line)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%d %s lost %d", r.Seq, r.NodeClaim.Name, r.Lost))
	}
	if diff := cmp.Diff([]string{"100 a lost 0", "103 d lost 5", "104 e lost 0"}, got); diff != "" {
		t.Error(diff)
	}
	if all, _ := read(t, l, ledger.Filter{}); len(all) != 6 {
		t.Errorf("%d records are in memory", len(all))
	}
}

func TestFilter(t *testing.T) {
	l := began(1<<20, nil)
	l.Append(event(ledger.Created, "claim-a"))
	l.Append(event(ledger.Created, "claim-b"))
	registered := event(ledger.Registered, "claim-a")
	registered.NodeClaim.Node = "node-a"
	l.Append(registered)
	l.Append(ledger.Record{Kind: ledger.KindProvisioning, Provisioning: &ledger.Provisioning{Placements: []ledger.Placement{{Node: "node-a"}}}})
	l.Append(ledger.Record{Kind: ledger.KindCommand, Command: &ledger.CommandEvent{Nodes: []string{"node-a"}, NodePools: []string{"default"}}})
	l.Append(ledger.Record{Kind: ledger.KindDisruption, Disruption: &ledger.Disruption{LeftAlone: []ledger.LeftAlone{{Nodes: []string{"node-b"}}}}})
	l.Append(ledger.Record{Kind: ledger.KindSaving, Saving: &ledger.Saving{ByNodePool: map[string]float64{"other": 1}}})
	l.Append(ledger.Record{Kind: ledger.KindFleet, Fleet: &ledger.Fleet{NodeClaims: []ledger.NodeClaimState{{Name: "claim-b", Node: "node-b"}}}})
	for _, tt := range []struct {
		name   string
		filter ledger.Filter
		want   string
	}{
		{"all", ledger.Filter{}, "1 2 3 4 5 6 7 8 9"},
		{"a node, with its NodeClaim before it was registered", ledger.Filter{Node: "node-a"}, "1 2 4 5 6"},
		{"a NodeClaim, with its node", ledger.Filter{NodeClaim: "claim-a"}, "1 2 4 5 6"},
		{"a node whose NodeClaim only a list of the fleet shows", ledger.Filter{Node: "node-b"}, "1 3 7 9"},
		{"a pool", ledger.Filter{NodePool: "default"}, "1 2 3 4 6"},
		{"a pool of savings", ledger.Filter{NodePool: "other"}, "1 8"},
		{"a node of another pool", ledger.Filter{NodePool: "other", Node: "node-a"}, "1"},
		{"kinds", ledger.Filter{Kinds: []ledger.Kind{ledger.KindCommand, ledger.KindSaving}}, "6 8"},
		{"a period", ledger.Filter{Since: at(2), Until: at(4)}, "3 4"},
		{"after a number", ledger.Filter{After: 7}, "8 9"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := read(t, l, tt.filter)
			if numbers(got) != tt.want {
				t.Errorf("got %s, want %s", numbers(got), tt.want)
			}
			all, _ := read(t, l, ledger.Filter{})
			if selected := ledger.Select(all, tt.filter); numbers(selected) != tt.want {
				t.Errorf("Select: got %s, want %s", numbers(selected), tt.want)
			}
		})
	}
}

func numbers(records []ledger.Record) string {
	var out []string
	for _, r := range records {
		out = append(out, fmt.Sprint(r.Seq))
	}
	return strings.Join(out, " ")
}

func TestRecordsOfALaterVersionAreRefused(t *testing.T) {
	line, err := json.Marshal(ledger.Record{Version: ledger.Version + 1, Seq: 7})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ledger.Decode(line); err == nil || !strings.Contains(err.Error(), "record 7") {
		t.Errorf("got %v", err)
	}
}

func TestHashTellsInputsApart(t *testing.T) {
	hash := func(run string, snapshot uint64, texts ...string) string {
		h := ledger.NewHash(run)
		h.Number(snapshot)
		h.Text(texts...)
		return h.String()
	}
	if again := hash("r", 1, "a", "b"); again != hash("r", 1, "a", "b") {
		t.Error("equal inputs have different hashes")
	}
	seen := map[string]bool{}
	for _, h := range []string{hash("r", 1, "a", "b"), hash("s", 1, "a", "b"), hash("r", 2, "a", "b"), hash("r", 1, "ab"), hash("r", 1, "a", "b", "")} {
		if seen[h] {
			t.Errorf("two inputs have the hash %s", h)
		}
		seen[h] = true
	}
}
