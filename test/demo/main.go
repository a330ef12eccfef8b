// Command demo shows the whole loop on a real control plane: pods pending, nodes launched, pods running, pods deleted, nodes removed. With
// -scene it shows consolidation, drift, expiry or node repair.
//
// With -cloud=aws the AWS provider runs against an AWS test server on loopback whose instances join the cluster: the quick start with an
// interruption, with -scene=storm, many launches at once while calls are throttled, capacity is insufficient and the controller is killed, or, with
// -scene=drift, nodes that are replaced after an edit of their NodePool.
// With -cloud=azure the provider for AKS runs against an Azure test server in the same way, with an eviction and a
// new node image.
//
// It starts the local control plane and the built controller, reports progress, prints one line of figures at the end, and leaves nothing
// running. With -stay it only starts both and keeps them until Ctrl-C, for manual experiments.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/test/simcluster"
)

// settings are the command line.
type settings struct {
	pods       int
	cloud      string
	catalog    string
	stay       bool
	scene      string
	launcher   string
	controller string
	manifests  string
	log        string
	// console is the address of the console of the controller; empty for none.
	console string
}

func main() {
	// A closed pipe must not keep the demo from stopping the cluster.
	signal.Ignore(syscall.SIGPIPE)
	simcluster.Main("demo", parse, func(ctx context.Context, s settings, out io.Writer) error {
		if s.stay {
			return stay(ctx, s, out)
		}
		return demonstrate(ctx, s, sceneOf(s), out)
	})
}

func parse(args []string, usage io.Writer) (settings, error) {
	var s settings
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.IntVar(&s.pods, "pods", 100, "the number of one-CPU pods")
	flags.StringVar(&s.cloud, "cloud", "kwok", "the cloud: kwok, whose nodes are simulated, or aws or azure, the provider against a test server of the cloud on loopback")
	flags.StringVar(&s.catalog, "catalog", "generic", "the catalog of instance types: generic, or a region such as aws/us-east-1")
	flags.BoolVar(&s.stay, "stay", false, "start cluster and controller and keep them until Ctrl-C")
	flags.StringVar(&s.scene, "scene", "", "show this instead of the whole loop: "+demo.SceneNames()+", "+approvalName)
	flags.StringVar(&s.launcher, "launcher", "bin/local", "the built launcher of the control plane")
	flags.StringVar(&s.controller, "controller", "bin/karpenter", "the built controller")
	flags.StringVar(&s.manifests, "manifests", "", "directory of the manifests (default: examples/ and the cloud)")
	flags.StringVar(&s.log, "log", "", "keep the controller's log in this file (default: a temporary one, kept on failure)")
	flags.StringVar(&s.console, "console-addr", "", "serve the console of the controller at this address, such as 127.0.0.1:8082, until Ctrl-C")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	if s.pods < 1 || s.pods > 20000 {
		return settings{}, fmt.Errorf("PODS is %d; it must be between 1 and 20000", s.pods)
	}
	clouds := []string{cloudKwok, cloudAWS, cloudAzure}
	if !slices.Contains(clouds, s.cloud) {
		return settings{}, fmt.Errorf("unknown cloud %q; known: %s", s.cloud, strings.Join(clouds, ", "))
	}
	if s.cloud != cloudKwok && !slices.Contains([]string{"", stormName, driftName}, s.scene) {
		return settings{}, fmt.Errorf("unknown scene %q with the cloud %s; known: %s, %s", s.scene, s.cloud, stormName, driftName)
	}
	if s.manifests == "" {
		s.manifests = filepath.Join("examples", s.cloud)
	}
	if s.scene != "" && sceneOf(s).Name != s.scene {
		return settings{}, fmt.Errorf("unknown scene %q; known: %s, %s", s.scene, demo.SceneNames(), approvalName)
	}
	return s, nil
}
