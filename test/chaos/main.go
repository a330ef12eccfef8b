// Command chaos injects faults into the built controller on a real control plane, and checks that it copes with them.
//
// It kills the controller with kill -9 repeatedly while pods are created and deleted, nodes drift and nodes are deleted: after some time, or
// when a write is done whose answer it has not seen. It stops the API server once, and refuses all writes for a while once; and its proxy
// between the two rejects a share of the writes and delays watches. For some lives the clock of the controller is ahead of that of the API
// server, for others it is behind. A seed determines all faults: the same seed repeats them. During the run it checks the invariants, and
// between rounds of faults it expects the cluster to reach a steady state. On request, disruption has to be approved, and a user who decides some
// seconds after each proposal approves most of them.
package main

import (
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/karpenter-anew/karpenter/test/simcluster"
)

// settings are the command line.
type settings struct {
	seed       uint64
	cloud      string
	kills      int
	share      float64
	stall      float64
	outage     time.Duration
	readOnly   time.Duration
	clock      bool
	packed     bool
	approval   bool
	peace      time.Duration
	launcher   string
	controller string
	log        string
}

func main() { simcluster.Main("chaos", parse, run) }

func parse(args []string, usage io.Writer) (settings, error) {
	s := settings{}
	flags := flag.NewFlagSet("chaos", flag.ContinueOnError)
	flags.SetOutput(usage)
	flags.Uint64Var(&s.seed, "seed", 1, "the seed of all faults")
	flags.IntVar(&s.kills, "kills", 50, "how often the controller is killed")
	flags.Float64Var(&s.share, "refuse", 0.1, "the share of the controller's writes that is refused")
	flags.Float64Var(&s.stall, "stall", 0.05, "the share of watch events that is delayed")
	flags.DurationVar(&s.outage, "outage", 30*time.Second, "how long the API server is down, once; 0 for not at all")
	flags.DurationVar(&s.readOnly, "readonly", 20*time.Second, "how long all writes are refused while reads work, once; 0 for not at all")
	flags.BoolVar(&s.clock, "clock", true, "give some controllers a wrong clock; builds them with go")
	flags.StringVar(&s.cloud, "cloud", cloudKwok, "the cloud: kwok, or aws, an AWS test server on loopback")
	flags.DurationVar(&s.peace, "peace", 20*time.Second, "for how long the controller is expected to write nothing once the cluster is at rest")
	flags.BoolVar(&s.packed, "packed", true, "consolidate, and expect cheap nodes at rest")
	flags.BoolVar(&s.approval, "approval", false, "let all voluntary disruption wait for approval, and approve most of it")
	flags.StringVar(&s.launcher, "launcher", "bin/local", "the built launcher of the control plane")
	flags.StringVar(&s.controller, "controller", "bin/karpenter", "the built controller")
	flags.StringVar(&s.log, "log", "", "keep the log of the controllers in this file (default: a temporary one, kept on failure)")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	switch {
	case flags.NArg() > 0:
		return settings{}, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	case s.kills < 1 || s.kills > 10000:
		return settings{}, fmt.Errorf("KILLS is %d; it must be between 1 and 10000", s.kills)
	case s.cloud != cloudKwok && s.cloud != cloudAWS:
		return settings{}, fmt.Errorf("CLOUD is %q; it must be %s or %s", s.cloud, cloudKwok, cloudAWS)
	case s.share < 0 || s.share > 0.9 || s.stall < 0 || s.stall > 0.9:
		return settings{}, fmt.Errorf("the shares of faults are %g and %g; they must be between 0 and 0.9", s.share, s.stall)
	}
	return s, nil
}
