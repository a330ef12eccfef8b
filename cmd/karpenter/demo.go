package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/examples"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// demoCommand shows the controller at work in a cluster in memory.
type demoCommand struct {
	Pods         int                 `help:"Number of one-CPU pods, at most 2000." default:"100"`
	Scene        string              `help:"Show this in place of provisioning: consolidation, drift, expiry, repair, legacy-repair, reboot or gang."`
	Catalog      string              `help:"Instance types of the simulated cloud: generic, or CLOUD/REGION for those of a region." default:"generic"`
	Console      string              `name:"console-addr" placeholder:"HOST:PORT" help:"Serve the console of the controller there, such as 127.0.0.1:8082, until Ctrl-C."`
	Stay         bool                `help:"Start the cluster and the controller, and keep both until Ctrl-C, for kubectl."`
	FeatureGates options.GateChanges `name:"feature-gates" placeholder:"GATE=BOOL,..." help:"Feature gates of the controller, with --stay."`
	Listen       string              `help:"Loopback address of the API server." default:"127.0.0.1:0"`
	Log          string              `help:"File for the log of the controller. By default it is kept only if the demonstration fails."`
}

// maxDemoPods is how many pods the cluster in memory is meant for.
const maxDemoPods = 2000

// Help is shown above the flags.
func (*demoCommand) Help() string {
	return "A Kubernetes API server, a scheduler, controllers of workloads and kubelets run in this process, in memory, and the controller against them " +
		"with a simulated cloud. Nothing is installed, and nothing is left afterwards. What the cluster does not do is in docs/demo.md."
}

// Validate is called after parsing.
func (c *demoCommand) Validate() error {
	if c.Pods < 1 || c.Pods > maxDemoPods {
		return fmt.Errorf("--pods is %d; it must be between 1 and %d", c.Pods, maxDemoPods)
	}
	if _, ok := demo.SceneNamed(c.Scene); !ok {
		return fmt.Errorf("--scene is %q; it must be one of %s", c.Scene, demo.SceneNames())
	}
	if len(c.FeatureGates) > 0 && !c.Stay {
		return errors.New("--feature-gates is for --stay: a demonstration has the feature gates that it needs")
	}
	return nil
}

// controllerFlags are the flags of the controller for a scene, and for the feature gates of the command line, which prevail.
func (c *demoCommand) controllerFlags(scene []string) []string {
	if len(c.FeatureGates) == 0 {
		return scene
	}
	const gates = "--feature-gates="
	for i, flag := range scene {
		if strings.HasPrefix(flag, gates) {
			out := slices.Clone(scene)
			out[i] += "," + c.FeatureGates.String()
			return out
		}
	}
	return append(slices.Clone(scene), gates+c.FeatureGates.String())
}

// Run implements the subcommand.
func (c *demoCommand) Run(s command.Streams) error {
	ctx, stop := command.UntilSignal(context.Background())
	defer stop()
	return c.run(ctx, s.Out)
}

func (c *demoCommand) run(ctx context.Context, out io.Writer) (err error) {
	start := time.Now()
	show := demo.NewProgress(out, start)
	scene, _ := demo.SceneNamed(c.Scene)
	logged := demo.NewSpotlight(show, scene.Lines)
	log, err := c.openLog()
	if err != nil {
		return err
	}
	defer func() {
		err = errors.Join(err, log.Close())
		if err != nil && ctx.Err() == nil {
			err = fmt.Errorf("%w\nthe log of the controller is %s", err, log.Name())
		} else if c.Log == "" {
			_ = os.Remove(log.Name())
		}
	}()
	to := io.MultiWriter(log, logged)
	if c.Stay {
		to = io.MultiWriter(log, demo.PrettyLog{Out: out})
	}
	flags := c.controllerFlags(scene.Flags)
	if c.Console != "" {
		flags = append(slices.Clone(flags), "--console-addr="+c.Console)
	}
	cluster, err := c.start(ctx, flags, &demo.LogTail{Next: to}, show.Line)
	if err != nil {
		return err
	}
	if c.Console != "" {
		show.Line("the console is at http://" + c.Console + "/console/")
	}
	if c.Stay {
		err = cluster.stay(out)
	} else {
		var figures fmt.Stringer
		play := &demo.Play{
			Settings: demo.Settings{Pods: c.Pods, Catalog: c.Catalog, PriceLabel: kwok.PriceLabel, Manifests: demoManifests()}, Ctx: cluster.ctx, Client: cluster.client, Show: show, Logged: logged,
			Cluster: cluster.took[0], Controller: cluster.took[1],
		}
		if figures, err = scene.Perform(play); err != nil {
			show.End()
			if ctx.Err() == nil {
				err = fmt.Errorf("%w\n%s", err, strings.TrimSpace(demo.Describe(context.WithoutCancel(ctx), cluster.client)))
			}
		} else {
			defer func() { _, _ = fmt.Fprintf(out, "\n%s · %.1f s in all\n", figures, time.Since(start).Seconds()) }()
		}
	}
	if c.Console != "" && !c.Stay && err == nil {
		show.Line("the console stays open until Ctrl-C")
		<-ctx.Done()
	}
	if failed := cluster.stop(); err == nil {
		err = failed
	}
	show.Line("cluster and controller stopped")
	return err
}

func (c *demoCommand) openLog() (*os.File, error) {
	var file *os.File
	var err error
	if c.Log != "" {
		file, err = os.Create(c.Log)
	} else {
		file, err = os.CreateTemp("", "karpenter-demo-*.log")
	}
	if err != nil {
		return nil, fmt.Errorf("opening the log of the controller: %w", err)
	}
	return file, nil
}

func demoManifests() fs.FS {
	dir, err := fs.Sub(examples.Kwok, "kwok")
	if err != nil {
		panic(err) // the name of the embedded folder is wrong
	}
	return dir
}
