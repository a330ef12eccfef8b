// Package reader reads the records of a ledger elsewhere: in the directory that a controller writes, or from the console of a running one.
package reader

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
)

// Dir are the records in a directory, also while a controller writes there. It implements ledger.Records. What cannot be read is part of the
// coverage, and no error. It is safe for concurrent use.
type Dir struct {
	dir string

	mu sync.Mutex
	// state is that of the files when they were read last; they are read again only when one of them has changed.
	state string
	cover ledger.Coverage
}

// NewDir returns the records in a directory.
func NewDir(dir string) *Dir { return &Dir{dir: dir} }

// Read implements ledger.Records.
func (d *Dir) Read(_ context.Context, f ledger.Filter) ([]json.RawMessage, ledger.Coverage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, err := filesState(d.dir)
	if err != nil {
		return nil, d.cover, err
	}
	if state == d.state && f.After >= d.cover.Last && f.After > 0 {
		return nil, d.cover, nil
	}
	all, err := readAll(d.dir)
	if err != nil {
		return nil, d.cover, err
	}
	d.state, d.cover = state, all.cover()
	return all.selected(f), d.cover, nil
}

// contents are the records of a directory.
type contents struct {
	lines   []json.RawMessage
	records []ledger.Record
	// newer are the errors of records that were not understood, damages parts of files that cannot be read.
	newer   []error
	damages []segment.Damage
}

func readAll(dir string) (*contents, error) {
	out := &contents{}
	var err error
	out.damages, err = segment.Read(dir, func(line []byte) error {
		r, err := ledger.Decode(line)
		if err != nil {
			out.newer = append(out.newer, err)
			return nil
		}
		out.records, out.lines = append(out.records, r), append(out.lines, bytes.Clone(line))
		return nil
	})
	return out, err
}

// cover says what there is, and what is missing.
func (c *contents) cover() ledger.Coverage {
	var out ledger.Coverage
	if n := len(c.records); n > 0 {
		out.First, out.Oldest, out.Last = c.records[0].Seq, c.records[0].Time, c.records[n-1].Seq
	}
	for _, r := range c.records {
		out.Lost += r.Lost
	}
	if n := len(c.newer); n > 0 {
		out.Unreadable = append(out.Unreadable, fmt.Sprintf("leaving out records that cannot be read, %d of them; the first: %v", n, c.newer[0]))
	}
	for _, d := range c.damages {
		out.Unreadable = append(out.Unreadable, d.String())
	}
	return out
}

func (c *contents) selected(f ledger.Filter) []json.RawMessage {
	wanted := map[uint64]bool{}
	for _, r := range ledger.Select(c.records, f) {
		wanted[r.Seq] = true
	}
	out := []json.RawMessage{}
	for i, line := range c.lines {
		if wanted[c.records[i].Seq] {
			out = append(out, line)
		}
	}
	return out
}

// filesState changes when a file in a directory does.
func filesState(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("reading the ledger: %w", err)
	}
	var b strings.Builder
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // it may be gone
			fmt.Fprintln(&b, e.Name(), info.Size(), info.ModTime().UnixNano())
		}
	}
	return b.String(), nil
}
