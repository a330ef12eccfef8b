package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/karpenter-anew/karpenter/test/process"
)

// side is one of the controllers.
type side struct {
	name, binary string
	args         []string
}

// controller is a running controller.
type controller struct {
	*process.Process
	side    side
	metrics int // the port
	log     *os.File
}

// start runs the controller with the same settings for both sides, and waits until its readiness probe succeeds.
func (x side) start(ctx context.Context, s settings, p *plane, label string, extra ...string) (*controller, error) {
	c := &controller{side: x}
	var err error
	if c.metrics, err = process.FreePort(0); err != nil {
		return nil, err
	}
	health, err := process.FreePort(0)
	if err != nil {
		return nil, err
	}
	args := slices.Concat(x.args, []string{
		"--disable-leader-election", fmt.Sprintf("--metrics-port=%d", c.metrics), fmt.Sprintf("--health-probe-port=%d", health),
	}, extra)
	if s.profiles != "" {
		args = append(args, "--enable-profiling")
	}
	var out io.Writer
	if s.logs != "" {
		if c.log, err = os.Create(filepath.Join(s.logs, x.name+"-"+label+".log")); err != nil {
			return nil, fmt.Errorf("keeping the log: %w", err)
		}
		out = c.log
	}
	if c.Process, err = process.Start(x.binary, args, append(os.Environ(), "KUBECONFIG="+p.kubeconfig), out); err != nil {
		return nil, fmt.Errorf("%s: %w", x.name, err)
	}
	err = await(ctx, 2*time.Minute, x.name+" to become ready", func() error {
		_, err := process.Get(ctx, health, "/readyz")
		return err
	})
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

// profile writes a profile of the running controller, if that is wanted.
func (c *controller) profile(ctx context.Context, s settings, path, label string) error {
	if s.profiles == "" {
		return nil
	}
	profile, err := process.Get(ctx, c.metrics, "/debug/pprof/"+path)
	if err != nil {
		return fmt.Errorf("profiling %s: %w", c.side.name, err)
	}
	return os.WriteFile(filepath.Join(s.profiles, c.side.name+"-"+label+".prof"), profile, 0o600)
}

// work is what a controller has done since its start, by its own metrics.
type work struct {
	// requests to the API server, patches among them, and patches that were answered with a conflict.
	requests, patches, conflicts int
	// passes of provisioning that ran the solver.
	passes int
}

// since is the work that was done after before was read.
func (w work) since(before work) work {
	return work{w.requests - before.requests, w.patches - before.patches, w.conflicts - before.conflicts, w.passes - before.passes}
}

// work reads the metrics of the controller.
func (c *controller) work(ctx context.Context) (work, error) {
	text, err := process.Get(ctx, c.metrics, "/metrics")
	if err != nil {
		return work{}, fmt.Errorf("reading the metrics of %s: %w", c.side.name, err)
	}
	var out work
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		line := lines.Text()
		space := strings.LastIndexByte(line, ' ')
		if space < 0 {
			continue
		}
		n, _ := strconv.ParseFloat(line[space+1:], 64)
		out.add(line[:space], int(n))
	}
	return out, nil
}

// add counts a series.
func (w *work) add(series string, n int) {
	switch {
	case strings.HasPrefix(series, "rest_client_requests_total"):
		w.requests += n
		if !strings.Contains(series, `method="PATCH"`) {
			return
		}
		w.patches += n
		if strings.Contains(series, `code="409"`) {
			w.conflicts += n
		}
	case strings.HasPrefix(series, "karpenter_scheduler_scheduling_duration_seconds_count") && strings.Contains(series, `"provisioner"`):
		w.passes += n / 2 // both sides observe a pass twice: the whole of it, and the run of the solver
	}
}

// stopPatience is more than a controller takes to finish its work.
const stopPatience = 40 * time.Second

// stop ends the controller in order, and kills it if it does not end. How it ends is not measured.
func (c *controller) stop() error {
	if c.Terminate(stopPatience) != nil {
		if err := c.Kill(); err != nil {
			return err
		}
	}
	if c.log == nil {
		return nil
	}
	return c.log.Close()
}

// memory is the memory of a process as the kernel reports it, in MB: the current and the peak value.
type memory struct{ now, peak float64 }

func (c *controller) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.ID()))
	if err != nil {
		return memory{}, fmt.Errorf("reading the memory of %s: %w", c.side.name, err)
	}
	var m memory
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		kib, _ := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 64)
		switch name {
		case "VmRSS":
			m.now = kib * 1024 / 1e6
		case "VmHWM":
			m.peak = kib * 1024 / 1e6
		}
	}
	return m, nil
}
