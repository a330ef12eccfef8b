// Package shadow is the subcommand that compares this controller with the one that runs in a cluster.
package shadow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kong"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/karpenter-anew/karpenter/api/v1"
	corev1alpha1 "github.com/karpenter-anew/karpenter/api/v1alpha1"
	"github.com/karpenter-anew/karpenter/cloud"
	"github.com/karpenter-anew/karpenter/cloud/plugin"
	"github.com/karpenter-anew/karpenter/embedded/controlplane"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/command/source"
	"github.com/karpenter-anew/karpenter/internal/document"
	"github.com/karpenter-anew/karpenter/internal/shadow"
)

// name is what the command is called on the command line.
const name = "shadow"

// Simulation is what the command needs to run a controller with simulated nodes. It is part of the binary, which alone knows the clouds.
type Simulation struct {
	// Controller reads the command line of a controller, and returns what runs it until the context ends. It writes its log line by line.
	Controller func(args []string) (run func(ctx context.Context, log io.Writer) error, err error)
	// Encode writes instance types for simulated nodes as a file, and returns notes on what the file leaves out.
	Encode func([]*cloud.InstanceType) (file []byte, notes []string, err error)
}

// Command compares this controller with the one that runs in a cluster.
type Command struct {
	For        time.Duration  `name:"for" placeholder:"DURATION" help:"How long to watch; otherwise until Ctrl-C or SIGTERM."`
	Interval   time.Duration  `name:"interval" default:"1m" placeholder:"DURATION" help:"Time between lines about both fleets (${default})."`
	Output     command.Output `name:"output" short:"o" default:"text" complete:"text,json,yaml" placeholder:"FORMAT" help:"Format of the report at the end: text, json, yaml, or jsonpath=TEMPLATE (${default})."`
	ReportFile string         `name:"report-file" placeholder:"FILE" help:"File that the report is written to as JSON at each interval, too."`
	Listen     string         `name:"listen" placeholder:"ADDRESS" help:"Address to serve the report on, as JSON at /report, and the probes /healthz and /readyz. It is not authenticated. Nothing is served by default."`
	Log        string         `name:"log" placeholder:"FILE" help:"File for the log of the controller in the mirror; otherwise it is not kept."`
	Flags      []string       `arg:"" optional:"" passthrough:"" name:"flag" help:"More flags of the controller in the mirror, after --, such as -- --ledger-dir=DIR --console-addr=127.0.0.1:8082."`

	Cluster source.Cluster `embed:""`

	simulation Simulation
}

// New returns the command with the flags of all providers.
func New(b command.Binary, s Simulation) Command {
	return Command{Cluster: source.NewCluster(b), simulation: s}
}

// Help is shown above the flags.
func (*Command) Help() string {
	return "Pods, NodePools and what they depend on are mirrored into a cluster in memory, in which this controller launches and removes simulated nodes. " +
		"The real cluster is only read. The report compares nodes, dollars and waiting times of both fleets. docs/shadow.md says what is not compared.\n\n" +
		"Exit codes: 0 the report is printed; 1 failure; 2 invalid command line or input."
}

// Run implements the subcommand.
func (c *Command) Run(k *kong.Context, b command.Binary, s command.Streams) error {
	if c.Cluster.Snapshot != "" {
		return command.WithCode(errors.New("--snapshot is one moment of a cluster: karpenter shadow watches a live one"), command.ExitUsage)
	}
	if c.Interval <= 0 || c.For < 0 {
		return command.WithCode(errors.New("--interval has to be positive, and --for must not be negative"), command.ExitUsage)
	}
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	if c.For > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.For)
		defer cancel()
	}
	return c.run(ctx, k, b, s)
}

// run compares until the context ends.
func (c *Command) run(ctx context.Context, k *kong.Context, b command.Binary, s command.Streams) (err error) {
	published := &shadow.Published{}
	closeServer, err := c.serve(ctx, published.Handler())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServer()) }()
	state, err := c.Cluster.Read(ctx, k, s, name)
	if err != nil {
		return err
	}
	if err := c.Cluster.Missing(); err != nil {
		return command.WithCode(err, command.ExitUsage)
	}
	opened, err := state.Open(ctx, state.Objects)
	if err != nil {
		return err
	}
	state.Tell(s.Err, opened)
	dir, err := os.MkdirTemp("", "karpenter-shadow-")
	if err != nil {
		return fmt.Errorf("making a directory for the mirror: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prices, notes, err := c.instanceTypes(ctx, opened, filepath.Join(dir, "instance-types.json"))
	if err != nil {
		return err
	}
	return c.compare(ctx, b, dir, prices, published, append(opened.Notes, notes...), s)
}

// compare runs the mirror and the comparison until the context ends, and prints the report.
func (c *Command) compare(ctx context.Context, b command.Binary, dir string, prices shadow.Prices, published *shadow.Published, notes []string, s command.Streams) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	plane, err := controlplane.Start(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	m := &mirrorCluster{ControlPlane: plane, dir: dir}
	if err := m.prepare(ctx, b); err != nil {
		return err
	}
	session := shadow.NewSession(m.settings(), prices)
	session.Clock, session.To = clock.RealClock{}, m.client
	session.Launch = m.launch
	session.Failed = func(err error) { _, _ = fmt.Fprintln(s.Err, "karpenter shadow:", err) }
	config, err := c.Cluster.Access.RESTConfig()
	if err != nil {
		return err
	}
	rest.AddUserAgent(config, "karpenter-"+name)
	if session.Real, err = follow(ctx, b, config); err != nil {
		return fmt.Errorf("reading the cluster: %w", err)
	}
	if err := session.Fill(ctx); err != nil {
		return err
	}
	if session.Mirror, err = follow(ctx, b, m.config); err != nil {
		return fmt.Errorf("reading the mirror: %w", err)
	}
	ended, err := c.control(ctx, cancel, m)
	if err != nil {
		return err
	}
	report, err := c.watch(ctx, session, published, notes, s)
	cancel(nil)
	err = errors.Join(err, <-ended)
	if err != nil || report == nil {
		return err
	}
	return c.print(*report, s.Out)
}

// watch reports until the context ends, and returns the last report.
func (c *Command) watch(ctx context.Context, session *shadow.Session, published *shadow.Published, notes []string, s command.Streams) (*shadow.Report, error) {
	var last *shadow.Report
	var due time.Time
	err := session.Run(ctx, append(shadow.Unknown(), notes...), func(r shadow.Report) {
		last = &r
		published.Set(r)
		if r.To.Before(due) {
			return
		}
		due = r.To.Add(c.Interval)
		_, _ = fmt.Fprintf(s.Err, "%s %s\n", r.To.Local().Format(time.TimeOnly), r.Line())
		if err := c.keep(r); err != nil {
			session.Failed(err)
		}
	})
	if err == nil && last != nil {
		err = c.keep(*last)
	}
	if cause := context.Cause(ctx); err == nil && !errors.Is(cause, context.Canceled) && !errors.Is(cause, context.DeadlineExceeded) {
		err = cause
	}
	return last, err
}

// serve serves HTTP if that is wanted. The caller closes the server.
func (c *Command) serve(ctx context.Context, handler http.Handler) (closeServer func() error, err error) {
	if c.Listen == "" {
		return func() error { return nil }, nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, command.WithCode(fmt.Errorf("--listen: %w", err), command.ExitUsage)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with Close
	return server.Close, nil
}

// keep writes the report file: the old one stays until the new one is whole.
func (c *Command) keep(r shadow.Report) error {
	if c.ReportFile == "" {
		return nil
	}
	file, err := os.CreateTemp(filepath.Dir(c.ReportFile), ".shadow-report-")
	if err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	err = errors.Join(document.Write(file, r, document.JSON), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), c.ReportFile)
	}
	if err != nil {
		_ = os.Remove(file.Name())
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

func (c *Command) print(r shadow.Report, to io.Writer) error {
	if c.Output != command.OutputText {
		return document.Write(to, r, c.Output.Document())
	}
	_, err := io.WriteString(to, r.Text())
	return err
}

// follow returns a cache of the kinds that are compared, which is in step with an API server until the context ends.
func follow(ctx context.Context, b command.Binary, config *rest.Config) (client.Reader, error) {
	scheme := runtime.NewScheme()
	for _, add := range append(b.Providers.Schemes(), clientgoscheme.AddToScheme, v1.AddToScheme, corev1alpha1.AddToScheme) {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	// What is read is not changed.
	shared := true
	c, err := cache.New(config, cache.Options{Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields(), DefaultUnsafeDisableDeepCopy: &shared})
	if err != nil {
		return nil, err
	}
	served := slices.Clone(shadow.Kinds())
	for _, kind := range served {
		if _, err := c.GetInformer(ctx, kind.New(), cache.BlockUntilSynced(false)); err != nil && !kind.Optional {
			return nil, fmt.Errorf("watching objects of the kind %s: %w", kind.Name, err)
		}
	}
	go func() { _ = c.Start(ctx) }() // an error shows when the cache is read
	if !c.WaitForCacheSync(ctx) {
		return nil, errors.Join(errors.New("the lists are not complete"), context.Cause(ctx))
	}
	return c, nil
}

// instanceTypes writes the instance types of all NodePools to a file for the controller in the mirror, and returns their prices.
func (c *Command) instanceTypes(ctx context.Context, opened plugin.Opened, path string) (shadow.Prices, []string, error) {
	listed, err := shadow.ListTypes(ctx, opened.Cloud, opened.Objects)
	if err != nil {
		return nil, nil, err
	}
	file, notes, err := c.simulation.Encode(listed.All)
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(path, file, 0o600); err != nil {
		return nil, nil, fmt.Errorf("writing the instance types: %w", err)
	}
	return listed.Prices, notes, nil
}

// loadKubeconfig reads a kubeconfig.
func loadKubeconfig(text []byte) (*rest.Config, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(text)
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of the mirror: %w", err)
	}
	config.QPS = -1
	return config, nil
}
