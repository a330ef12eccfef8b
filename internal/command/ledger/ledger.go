// Package ledger is karpenter ledger.
package ledger

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/client-go/kubernetes"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/ledger/reader"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// ledgerTimeout bounds a request to the controller.
const ledgerTimeout = time.Minute

// Command prints the decision ledger.
type Command struct {
	Dir     string `name:"dir" placeholder:"DIR" xor:"source" help:"Directory with the records: that of --ledger-dir of the controller, also while it runs. Without it and --address, the leader in the cluster is asked."`
	Address string `name:"address" placeholder:"URL" xor:"source" help:"Where the controller serves its console, see --console-addr: such as http://127.0.0.1:8082 after kubectl port-forward."`

	Since     moment         `name:"since" placeholder:"TIME" help:"Records from then on: a duration such as 2h or a time such as 2026-01-02T15:04:05Z."`
	Until     moment         `name:"until" placeholder:"TIME" help:"Records before then, in the same form."`
	Node      string         `name:"node" placeholder:"NAME" help:"Records that mention the node, or its NodeClaim."`
	NodePool  string         `name:"nodepool" placeholder:"NAME" help:"Records that mention the NodePool."`
	NodeClaim string         `name:"nodeclaim" placeholder:"NAME" help:"Records that mention the NodeClaim, or its node."`
	Kind      kinds          `name:"kind" placeholder:"KIND,..." help:"Kinds of records: start, fleet, provisioning, disruption, command, nodeclaim, saving, plan. Default: all."`
	Limit     int            `name:"limit" placeholder:"N" help:"At most so many records, the newest ones; 0 for all (${default})." default:"0"`
	Output    command.Output `name:"output" short:"o" default:"table" complete:"table,json" placeholder:"FORMAT" help:"table, json for one JSON object a line, or jsonpath=TEMPLATE for one line for each record (${default})."`

	Access              source.Access `embed:""`
	ControllerNamespace string        `name:"controller-namespace" placeholder:"NAMESPACE" help:"Namespace of the controller; otherwise all namespaces are searched for its lease."`
	LeaseName           string        `name:"leader-election-name" default:"karpenter-leader-election" placeholder:"NAME" help:"Lease of the controller (${default})."`

	TokenFile string `name:"token-file" placeholder:"FILE" help:"File with the bearer token for --address, or for a leader that does not serve on its loopback interface."`
	Authority string `name:"certificate-authority" placeholder:"FILE" help:"Certificate of the authority that signed that of --address."`
	Insecure  bool   `name:"insecure-skip-tls-verify" help:"Do not verify the certificate of --address: that of the controller is signed by itself. Anyone between could read the token."`
}

// Help is shown above the flags.
func (*Command) Help() string {
	return "Reads what the controller has decided, and why: its passes, its disruption commands, the life of NodeClaims, and savings. Without --dir and " +
		"--address, from the leader in the cluster, which has to serve its console, over a port that is forwarded through the API server. " +
		"Read-only. docs/ledger.md explains it, and docs/reference/ledger.md lists the fields.\n\n" +
		"What is missing in the output is said on standard error.\n\nExit codes: 0 the records are printed, even if there are none; 1 failure; 2 invalid command line."
}

// Run implements the subcommand.
func (c *Command) Run(b command.Binary, s command.Streams) error {
	query, err := c.query(b.Now())
	if err = errors.Join(err, c.checkSource()); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	note := func(format string, args ...any) { _, _ = fmt.Fprintf(s.Err, "karpenter ledger: "+format+"\n", args...) }
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	var records []ledger.Record
	if c.Dir != "" {
		records, err = readDir(ctx, c.Dir, query, note)
	} else {
		records, err = c.ask(ctx, b, query, note)
	}
	if err != nil {
		return err
	}
	noteGaps(records, note)
	return c.print(s.Out, records)
}

// kinds are kinds of records, separated by commas.
type kinds []ledger.Kind

// Decode implements kong.MapperValue.
func (k *kinds) Decode(ctx *kong.DecodeContext) error {
	return options.DecodeText(ctx, k, func(text string) (kinds, error) {
		more, err := ledger.ParseKinds(strings.Split(text, ","))
		return append(*k, more...), err
	})
}

// query is what the flags ask for.
func (c *Command) query(now time.Time) (ledger.Query, error) {
	since, until := c.Since.before(now), c.Until.before(now)
	switch {
	case c.Limit < 0:
		return ledger.Query{}, errors.New("--limit must not be negative")
	case !since.IsZero() && !until.IsZero() && !since.Before(until):
		return ledger.Query{}, fmt.Errorf("--since has to be before --until: no record is from %s on and before %s", stamp(since), stamp(until))
	}
	return ledger.Query{
		Filter: ledger.Filter{
			Since: since, Until: until, Kinds: c.Kind,
			Node: c.Node, NodePool: c.NodePool, NodeClaim: c.NodeClaim,
		},
		Limit: c.Limit,
	}, nil
}

// readDir reads the records in a directory.
func readDir(ctx context.Context, dir string, query ledger.Query, note func(string, ...any)) ([]ledger.Record, error) {
	lines, cover, err := reader.NewDir(dir).Read(ctx, query.Filter)
	if err != nil {
		return nil, err
	}
	for _, what := range cover.Unreadable {
		note("%s", what)
	}
	if cover.First == 0 {
		note("there are no records in %s", dir)
		return nil, nil
	}
	if cover.Lost > 0 {
		note("%d records could not be written to disk and are missing", cover.Lost)
	}
	note("the oldest record is number %d of %s; nothing is known before it", cover.First, stamp(cover.Oldest))
	return decode(query.Answer(lines, cover), note)
}

// decode decodes the records of an answer.
func decode(answer ledger.Answer, note func(string, ...any)) ([]ledger.Record, error) {
	if answer.Omitted > 0 {
		note("%d older records are left out because of --limit", answer.Omitted)
	}
	out := make([]ledger.Record, len(answer.Records))
	for i, line := range answer.Records {
		var err error
		if out[i], err = ledger.Decode(line); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// ask asks a running controller: the one at the address, or the leader in the cluster.
func (c *Command) ask(ctx context.Context, b command.Binary, query ledger.Query, note func(string, ...any)) ([]ledger.Record, error) {
	ctx, cancel := context.WithTimeout(ctx, ledgerTimeout)
	defer cancel()
	if c.Address == "" {
		if err := c.connect(ctx, b, note); err != nil {
			return nil, err
		}
	}
	controller := &reader.Client{Address: c.Address, TokenFile: c.TokenFile, Authority: c.Authority, Insecure: c.Insecure}
	answer, err := controller.Request(ctx, query)
	if err != nil {
		return nil, err
	}
	if !answer.Leader {
		note("this replica of the controller is not the leader, which alone decides: ask that one")
	}
	if answer.Coverage.First > 0 {
		note("the oldest record in memory is number %d of %s; nothing is known before it", answer.Coverage.First, stamp(answer.Coverage.Oldest))
	}
	if answer.Coverage.Dropped > 0 {
		note("%d older records of this run are not in memory any more: see --ledger-memory and --ledger-dir of the controller", answer.Coverage.Dropped)
	}
	return decode(answer, note)
}

// connect finds the leader in the cluster, and sets the address to a port that leads to it until ctx ends.
func (c *Command) connect(ctx context.Context, b command.Binary, note func(string, ...any)) error {
	config, err := c.Access.RESTConfig()
	if err != nil {
		return err
	}
	config.UserAgent = "karpenter-ledger/" + b.Version
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("connecting to the API server at %s: %w", config.Host, err)
	}
	found, err := findLeader(ctx, client, c.ControllerNamespace, c.LeaseName)
	if err != nil {
		return err
	}
	if found.public && c.TokenFile == "" {
		return fmt.Errorf("the leader, pod %q in namespace %q, asks for a token: give one with --token-file", found.pod, found.namespace)
	}
	if c.Address, err = forward(ctx, config, client, found); err != nil {
		return err
	}
	// The controller has signed its certificate itself. Between are the API server and the kubelet of its node, which authenticate each other.
	c.Insecure = c.Insecure || c.Authority == ""
	note("asking the leader, pod %q in namespace %q", found.pod, found.namespace)
	return nil
}

// noteGaps says which records are cut.
func noteGaps(records []ledger.Record, note func(string, ...any)) {
	cut := 0
	for _, r := range records {
		if len(r.Cut) > 0 {
			cut++
		}
	}
	if cut > 0 {
		note("%d of these records were too large, and say how much of them is left out", cut)
	}
}

// print prints records.
func (c *Command) print(to io.Writer, records []ledger.Record) error {
	switch c.Output {
	case command.OutputTable:
	case command.OutputJSON:
		encoder := json.NewEncoder(to)
		for _, r := range records {
			if err := encoder.Encode(r); err != nil {
				return err
			}
		}
		return nil
	default:
		for _, r := range records {
			if err := document.Write(to, r, c.Output.Document()); err != nil {
				return err
			}
		}
		return nil
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if len(records) > 0 {
		_, _ = fmt.Fprintln(table, "TIME\tSEQ\tKIND\tWHAT") // Flush returns the error
	}
	for _, r := range records {
		_, _ = fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", stamp(r.Time), r.Seq, r.Kind, r.Summary())
	}
	return table.Flush()
}

// stamp is a time as tables show it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// moment is a time of the command line: a point in time, or a duration before the present.
type moment struct {
	at  time.Time
	ago *time.Duration
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(text []byte) error {
	if d, err := time.ParseDuration(string(text)); err == nil && d >= 0 {
		m.ago = &d
		return nil
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return fmt.Errorf("%q is neither a duration such as 90m nor a time such as 2026-01-02T15:04:05Z", text)
	}
	m.at = at
	return nil
}

// before is the point in time; zero for none.
func (m moment) before(now time.Time) time.Time {
	if m.ago != nil {
		return now.Add(-*m.ago)
	}
	return m.at
}
