package views

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	ledgercommand "github.com/karpenter-anew/karpenter/internal/command/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/segment"
	"github.com/karpenter-anew/karpenter/internal/manifest"
	"github.com/karpenter-anew/karpenter/internal/view"
)

// readEdit reads the manifests of an edit.
func readEdit(reader *manifest.Reader, text []byte) (manifest.Manifest, error) {
	edited, err := reader.Read("edit", bytes.NewReader(text))
	if err == nil && len(edited.Objects) == 0 {
		err = errors.New("the manifests hold no objects that have a bearing on nodes: paste NodePools, node classes or workloads as YAML")
	}
	if err != nil {
		return edited, fmt.Errorf("%w: %w", view.ErrInvalid, err)
	}
	return edited, nil
}

// Ledger are the flags that name a decision ledger.
type Ledger struct {
	Source    string `name:"ledger" placeholder:"DIR|URL" help:"The decision ledger, for history: the directory of --ledger-dir of the controller, or the address of its console, such as http://127.0.0.1:8082 after kubectl port-forward."`
	TokenFile string `name:"ledger-token-file" placeholder:"FILE" help:"File with the bearer token for the address of --ledger."`
	Authority string `name:"ledger-certificate-authority" placeholder:"FILE" help:"Certificate of the authority that signed that of the address of --ledger."`
	SkipTLS   bool   `name:"ledger-insecure-skip-tls-verify" help:"Do not verify the certificate of the address of --ledger."`
}

// Records are those of the ledger that the flags name; nil for none.
func (l Ledger) Records() view.Records {
	switch {
	case l.Source == "":
		return nil
	case strings.HasPrefix(l.Source, "http://") || strings.HasPrefix(l.Source, "https://"):
		return &remoteRecords{ledgercommand.Command{Address: l.Source, TokenFile: l.TokenFile, Authority: l.Authority, Insecure: l.SkipTLS}}
	default:
		return &dirRecords{dir: l.Source}
	}
}

// remoteRecords are the records in the memory of a controller.
type remoteRecords struct{ ask ledgercommand.Command }

// Read implements view.Records.
func (r *remoteRecords) Read(ctx context.Context, f ledger.Filter) ([]json.RawMessage, ledger.Coverage, error) {
	answer, err := r.ask.Request(ctx, ledger.Query{Filter: f})
	return answer.Records, answer.Coverage, err
}

// dirRecords are the records in a directory. Files are read again only when one of them has changed.
type dirRecords struct {
	dir string

	mu    sync.Mutex
	state string
	cover ledger.Coverage
}

// Read implements view.Records.
func (d *dirRecords) Read(_ context.Context, f ledger.Filter) ([]json.RawMessage, ledger.Coverage, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	state, err := filesState(d.dir)
	if err != nil {
		return nil, d.cover, err
	}
	if state == d.state && f.After >= d.cover.Last && f.After > 0 {
		return nil, d.cover, nil
	}
	var out []json.RawMessage
	var records []ledger.Record
	cover := ledger.Coverage{}
	_, err = segment.Read(d.dir, func(line []byte) error {
		r, err := ledger.Decode(line)
		if err != nil {
			return nil //nolint:nilerr // a newer program wrote it
		}
		if cover.First == 0 {
			cover.First, cover.Oldest = r.Seq, r.Time
		}
		cover.Last = r.Seq
		records = append(records, r)
		out = append(out, bytes.Clone(line))
		return nil
	})
	if err != nil {
		return nil, d.cover, err
	}
	d.state, d.cover = state, cover
	selected := map[uint64]bool{}
	for _, r := range ledger.Select(records, f) {
		selected[r.Seq] = true
	}
	kept := out[:0]
	for i, line := range out {
		if selected[records[i].Seq] {
			kept = append(kept, line)
		}
	}
	return kept, cover, nil
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
