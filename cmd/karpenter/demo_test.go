package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/karpenter-anew/karpenter/cloud/kwok"
	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/internal/demo"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// TestDemoRunsPodsInMemory starts the cluster and the controller in this process, and waits until the nodes for some pods are there.
func TestDemoRunsPodsInMemory(t *testing.T) {
	c := &demoCommand{Pods: 12, Catalog: "generic", Listen: "127.0.0.1:0"}
	var out, log bytes.Buffer
	show := demo.NewProgress(&out, time.Now())
	cluster, err := c.start(t.Context(), nil, &demo.LogTail{Next: &log}, show.Line)
	if err != nil {
		t.Fatal(err)
	}
	dir := cluster.dir
	play := &demo.Play{
		Settings: demo.Settings{Pods: c.Pods, Catalog: c.Catalog, PriceLabel: kwok.PriceLabel, Manifests: demoManifests()},
		Ctx:      cluster.ctx, Client: cluster.client, Show: show,
	}
	if err := play.Pool(); err != nil {
		t.Fatal(err)
	}
	got, err := play.Launch(c.Pods)
	if err != nil {
		t.Fatalf("%v\n%s", err, demo.Describe(context.Background(), cluster.client))
	}
	if got.Running != 12 || got.Nodes == 0 || got.PricePerHour == 0 {
		t.Errorf("the demonstration ends with %s", got)
	}
	if err := cluster.stop(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is left behind", dir)
	}
	if !strings.Contains(out.String(), "12 pods running") {
		t.Errorf("it printed:\n%s", out.String())
	}
}

func TestDemoRefusesBadValues(t *testing.T) {
	for arg, want := range map[string]string{
		"--pods=0":                        "--pods is 0; it must be between 1 and 2000",
		"--scene=comedy":                  `--scene is "comedy"; it must be one of consolidation, drift, expiry, repair, legacy-repair, reboot, gang`,
		"--listen=0.0.0.0:8443":           "not on the loopback interface",
		"--listen=here":                   "want one such as 127.0.0.1:0",
		"--catalog=gcp/moon":              "gcp/moon",
		"--feature-gates=NodeRepair=true": "--feature-gates is for --stay",
		"--feature-gates=Magic=true":      `unknown feature gate "Magic"`,
	} {
		var out bytes.Buffer
		if code := run([]string{"demo", "--pods=1", arg}, os.LookupEnv, command.Streams{Out: &out, Err: &out}); code != command.ExitUsage && code != command.ExitFailed || !strings.Contains(out.String(), want) {
			t.Errorf("%s ends with %d and\n%s", arg, code, out.String())
		}
	}
}

// TestDemoPassesFeatureGatesOn: to the controller, where those of the command line prevail over those of a scene.
func TestDemoPassesFeatureGatesOn(t *testing.T) {
	for _, c := range []struct {
		gates options.GateChanges
		scene []string
		want  []string
	}{
		{nil, []string{"--legacy-node-repair"}, []string{"--legacy-node-repair"}},
		{options.GateChanges{"CapacityBuffer": true, "NodeRepair": true}, nil, []string{"--feature-gates=CapacityBuffer=true,NodeRepair=true"}},
		{
			options.GateChanges{"NodeRepair": false},
			[]string{"--feature-gates=NodeRepair=true", "--legacy-node-repair"},
			[]string{"--feature-gates=NodeRepair=true,NodeRepair=false", "--legacy-node-repair"},
		},
	} {
		command := demoCommand{FeatureGates: c.gates, Stay: true}
		if got := command.controllerFlags(c.scene); !slices.Equal(got, c.want) {
			t.Errorf("%v with the flags %q of a scene: %q, want %q", c.gates, c.scene, got, c.want)
		}
	}
}
