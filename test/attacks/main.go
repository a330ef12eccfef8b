// Command attacks lets hostile tenants loose on the built controller: each attack creates objects that a user who may create pods in a
// namespace can create, on a real control plane, and checks that others are not affected.
//
// Honest pods beside the attacker's must run within seconds; where there are many, within seconds more than without the attacker. Nodes
// for them must be ready within seconds once kube-scheduler has found none, which is the part of the controller. The memory of the
// controller stays under its limit, no pass takes longer than its deadline, every message that leaves the controller is bounded, and the
// controller neither ends nor panics. Each attack has a dedicated cluster and controller.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"time"

	"github.com/karpenter-anew/karpenter/test/simcluster"
)

// settings are the command line.
type settings struct {
	only       *regexp.Regexp
	list       bool
	launcher   string
	controller string
	logs       string
}

func main() { simcluster.Main("attacks", parse, runAll) }

func parse(args []string, usage io.Writer) (settings, error) {
	s := settings{}
	flags := flag.NewFlagSet("attacks", flag.ContinueOnError)
	flags.SetOutput(usage)
	only := flags.String("attack", "", "a regular expression: run only the attacks whose names match; all by default")
	flags.BoolVar(&s.list, "list", false, "list the attacks and end")
	flags.StringVar(&s.launcher, "launcher", "bin/local", "the built launcher of the control plane")
	flags.StringVar(&s.controller, "controller", "bin/karpenter", "the built controller")
	flags.StringVar(&s.logs, "logs", "", "keep the logs of the controllers in this directory (default: a temporary one, kept on failure)")
	if err := flags.Parse(args); err != nil {
		return settings{}, err
	}
	if flags.NArg() > 0 {
		return settings{}, fmt.Errorf("unexpected argument %q; see -help", flags.Arg(0))
	}
	var err error
	if s.only, err = regexp.Compile(*only); err != nil {
		return settings{}, fmt.Errorf("ATTACK is no regular expression: %w", err)
	}
	return s, nil
}

// errHurt is returned when an attack affected others.
var errHurt = errors.New("an attack affects others")

// runAll runs the selected attacks one after the other and prints a line for each. It returns errHurt if one affects others.
func runAll(ctx context.Context, s settings, out io.Writer) error {
	selected := slices.DeleteFunc(attacks(), func(a attack) bool { return !s.only.MatchString(a.name) })
	if len(selected) == 0 {
		return errors.New("no attack has such a name; see -list")
	}
	if s.list {
		for _, a := range selected {
			_, _ = fmt.Fprintf(out, "%-22s %s\n", a.name, a.what)
		}
		return nil
	}
	if s.logs == "" {
		var err error
		if s.logs, err = os.MkdirTemp("", "karpenter-attacks-"); err != nil {
			return fmt.Errorf("creating a directory for logs: %w", err)
		}
	}
	hurt := 0
	for _, a := range selected {
		harmless, err := try(ctx, s, a, out)
		if err != nil {
			return err
		}
		if !harmless {
			hurt++
		}
	}
	if hurt > 0 {
		return fmt.Errorf("%w: %d of %d; the logs of the controllers are in %s", errHurt, hurt, len(selected), s.logs)
	}
	_, _ = fmt.Fprintf(out, "%d attacks, no attack affects others\n", len(selected))
	return nil
}

// try runs one attack and reports whether others are unaffected. Where honest pods are many, it measures as many without an attacker first.
func try(ctx context.Context, s settings, a attack, out io.Writer) (harmless bool, err error) {
	within, harmless := honestWait, true
	if a.honest > 0 {
		without, err := report(ctx, s, alone(a.honest), giveUp, out)
		if err != nil {
			return false, err
		}
		within, harmless = slices.Max(append(without.waited, 0))+slowdown, len(without.findings) == 0
	}
	seen, err := report(ctx, s, a, within, out)
	return harmless && err == nil && len(seen.findings) == 0, err
}

// report runs one attack and prints what it did.
func report(ctx context.Context, s settings, a attack, within time.Duration, out io.Writer) (*result, error) {
	seen, err := run(ctx, s, a, within)
	if err != nil {
		return seen, fmt.Errorf("attack %s: %w", a.name, err)
	}
	_, _ = fmt.Fprintf(out, "%-22s %s\n", a.name, seen)
	for _, f := range seen.findings {
		_, _ = fmt.Fprintf(out, "  FOUND: %s\n", f)
	}
	return seen, nil
}
