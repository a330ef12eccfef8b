// Program cluster measures the running controller against a real control plane, ours and upstream, sigs.k8s.io/karpenter, one after
// the other: the same cluster, NodePool, NodeClass and pods, the same settings, the same watches with the same clock.
// See docs/performance.md, "The running controller".
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// settings are the flags.
type settings struct {
	launcher, ours, upstream string
	only, cases              string
	logs, profiles           string
	out                      io.Writer
	// pods are the sizes of the batches that are launched for, empty the numbers of empty nodes, nodes the sizes of the clusters
	// whose memory is measured.
	pods, empty, nodes sizes
	// periods are the times between groups of pods of the case trickle.
	periods periods
	// switchNodes is how many nodes the first controller of the case switch launches.
	switchNodes int
	// day is how long the day of the case shadow takes.
	day time.Duration
}

// periods is a flag of several durations.
type periods []time.Duration

// String implements flag.Value.
func (x *periods) String() string {
	out := make([]string, len(*x))
	for i, d := range *x {
		out[i] = d.String()
	}
	return strings.Join(out, ",")
}

// Set implements flag.Value.
func (x *periods) Set(text string) error {
	*x = nil
	for part := range strings.SplitSeq(text, ",") {
		d, err := time.ParseDuration(part)
		if err != nil || d <= 0 || d > trickleTime {
			return fmt.Errorf("%q is no period of at most %s", part, trickleTime)
		}
		*x = append(*x, d)
	}
	return nil
}

// sizes is a flag of several numbers.
type sizes []int

// String implements flag.Value.
func (x *sizes) String() string {
	out := make([]string, len(*x))
	for i, n := range *x {
		out[i] = strconv.Itoa(n)
	}
	return strings.Join(out, ",")
}

// Set implements flag.Value.
func (x *sizes) Set(text string) error {
	*x = nil
	for part := range strings.SplitSeq(text, ",") {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 {
			return fmt.Errorf("%q is no number of objects", part)
		}
		*x = append(*x, n)
	}
	return nil
}

// sides are the controllers to measure, ours first.
func (s settings) sides() []side {
	all := []side{
		{name: "ours", binary: s.ours, args: []string{"controller", "--cloud-provider=kwok", "--catalog=generic"}},
		{name: "upstream", binary: s.upstream},
	}
	return slices.DeleteFunc(all, func(x side) bool { return s.only != "" && x.name != s.only })
}

func main() {
	s := settings{out: os.Stdout}
	flag.StringVar(&s.launcher, "launcher", "bin/local", "the built launcher of the control plane")
	flag.StringVar(&s.ours, "ours", "bin/karpenter", "our built controller")
	flag.StringVar(&s.upstream, "upstream", "bin/bench-upstream", "upstream's built controller for simulated nodes")
	flag.StringVar(&s.only, "only", "", "measure only one side: ours or upstream")
	flag.StringVar(&s.cases, "case", "", "measure only these cases, separated by commas: launch, empty, memory, trickle, switch, shadow; all but shadow by default")
	flag.StringVar(&s.logs, "logs", "", "keep the controllers' logs in this directory")
	flag.StringVar(&s.profiles, "profiles", "", "write heap and CPU profiles into this directory")
	s.pods, s.empty, s.nodes = sizes{1000, 5000}, sizes{500}, sizes{1000, 2000}
	flag.Var(&s.pods, "pods", "how many pods to launch for, several numbers separated by commas")
	flag.Var(&s.empty, "empty", "how many empty nodes to delete, several numbers separated by commas")
	flag.Var(&s.nodes, "nodes", "the sizes of the clusters for the case memory, ascending, separated by commas")
	s.periods = periods{60 * time.Millisecond, time.Second, 1500 * time.Millisecond}
	flag.Var(&s.periods, "periods", "the times between groups of pods in the case trickle, separated by commas")
	flag.IntVar(&s.switchNodes, "switch-nodes", 10, "how many nodes the first controller launches in the case switch")
	flag.DurationVar(&s.day, "day", 10*time.Minute, "how long the day in the case shadow takes")
	flag.Parse()
	log.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := run(ctx, s); err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, s settings) error {
	if s.only != "" && s.only != "ours" && s.only != "upstream" {
		return fmt.Errorf("-only: %q is neither ours nor upstream", s.only)
	}
	if s.day < time.Minute {
		return fmt.Errorf("-day: a day takes at least a minute, not %s", s.day)
	}
	if s.switchNodes < 1 {
		return fmt.Errorf("-switch-nodes: %d is no number of nodes", s.switchNodes)
	}
	cases := []struct {
		name    string
		measure func(context.Context, settings) error
	}{{"launch", measureLaunch}, {"empty", measureEmpty}, {"memory", measureMemory}, {"trickle", measureTrickle}, {"switch", measureSwitch}, {"shadow", measureShadow}}
	wanted := strings.Split(s.cases, ",")
	known := 0
	for _, c := range cases {
		if s.cases != "" && !slices.Contains(wanted, c.name) || s.cases == "" && c.name == "shadow" {
			continue
		}
		known++
		if err := c.measure(ctx, s); err != nil {
			return fmt.Errorf("measuring %s: %w", c.name, err)
		}
	}
	if known == 0 {
		return errors.New("-case: there are launch, empty, memory, trickle, switch and shadow")
	}
	return nil
}
