// Command attacks lets hostile tenants loose on the built controller: each attack creates objects that a user who may create pods in a
// namespace can create, on a real control plane, and checks that others are not affected.
//
// Honest pods beside the attacker's must run within seconds, the memory of the controller stays under its limit, no pass takes longer than
// its deadline, every message that leaves the controller is bounded, and the controller neither ends nor panics. Each attack has a
// dedicated cluster and controller.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"syscall"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
)

// settings are the command line.
type settings struct {
	only       *regexp.Regexp
	list       bool
	launcher   string
	controller string
	logs       string
}

func main() {
	ctrllog.SetLogger(logr.Discard())
	s, err := parse(os.Args[1:], os.Stderr)
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "attacks: %v\n", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := runAll(ctx, s, os.Stdout); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "attacks: %v\n", err)
		os.Exit(1)
	}
}

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
	if s.logs == "" && !s.list {
		var err error
		if s.logs, err = os.MkdirTemp("", "karpenter-attacks-"); err != nil {
			return fmt.Errorf("creating a directory for logs: %w", err)
		}
	}
	count, hurt := 0, 0
	for _, a := range attacks() {
		if !s.only.MatchString(a.name) {
			continue
		}
		count++
		if s.list {
			_, _ = fmt.Fprintf(out, "%-22s %s\n", a.name, a.what)
			continue
		}
		seen, err := run(ctx, s, a)
		if err != nil {
			return fmt.Errorf("attack %s: %w", a.name, err)
		}
		_, _ = fmt.Fprintf(out, "%-22s %s\n", a.name, seen)
		for _, f := range seen.findings {
			_, _ = fmt.Fprintf(out, "  FOUND: %s\n", f)
		}
		if len(seen.findings) > 0 {
			hurt++
		}
	}
	switch {
	case count == 0:
		return errors.New("no attack has such a name; see -list")
	case hurt > 0:
		return fmt.Errorf("%w: %d of %d; the logs of the controllers are in %s", errHurt, hurt, count, s.logs)
	case s.list:
		return nil
	}
	_, _ = fmt.Fprintf(out, "%d attacks, no attack affects others\n", count)
	return nil
}
