package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// side is one of the controllers.
type side struct {
	name, binary string
	args         []string
}

// process is a running controller.
type process struct {
	side    side
	cmd     *exec.Cmd
	metrics string
	done    chan struct{}
	log     *os.File
}

// start runs the controller with the same settings for both sides, and waits until its probe says that it is ready.
func (x side) start(ctx context.Context, s settings, p *plane, label string, extra ...string) (*process, error) {
	metrics, err := freePort()
	if err != nil {
		return nil, err
	}
	health, err := freePort()
	if err != nil {
		return nil, err
	}
	args := append(append([]string{}, x.args...), "--disable-leader-election", "--metrics-port="+metrics, "--health-probe-port="+health)
	if s.profiles != "" {
		args = append(args, "--enable-profiling")
	}
	c := &process{side: x, cmd: exec.Command(x.binary, append(args, extra...)...), metrics: metrics, done: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig)
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.logs != "" {
		if c.log, err = os.Create(filepath.Join(s.logs, x.name+"-"+label+".log")); err != nil {
			return nil, fmt.Errorf("keeping the log: %w", err)
		}
		c.cmd.Stdout, c.cmd.Stderr = c.log, c.log
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", x.name, err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // how it ends is not measured
	}()
	err = await(ctx, 2*time.Minute, x.name+" to become ready", func() error { return get(ctx, health, "/readyz", io.Discard) })
	if err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return c, nil
}

func get(ctx context.Context, port, path string, to io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1:"+port+path, http.NoBody)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return errors.New(response.Status)
	}
	_, err = io.Copy(to, response.Body)
	return err
}

// profile writes a profile of the running controller, if that is wanted.
func (c *process) profile(ctx context.Context, s settings, path, label string) error {
	if s.profiles == "" {
		return nil
	}
	file, err := os.Create(filepath.Join(s.profiles, c.side.name+"-"+label+".prof"))
	if err != nil {
		return fmt.Errorf("keeping the profile: %w", err)
	}
	return errors.Join(get(ctx, c.metrics, "/debug/pprof/"+path, file), file.Close())
}

// requests is how many requests the controller has sent to the API server.
func (c *process) requests(ctx context.Context) (int, error) {
	var text bytes.Buffer
	if err := get(ctx, c.metrics, "/metrics", &text); err != nil {
		return 0, fmt.Errorf("reading the metrics of %s: %w", c.side.name, err)
	}
	sum := 0.0
	for lines := bufio.NewScanner(&text); lines.Scan(); {
		if line := lines.Text(); strings.HasPrefix(line, "rest_client_requests_total") {
			n, _ := strconv.ParseFloat(line[strings.LastIndexByte(line, ' ')+1:], 64)
			sum += n
		}
	}
	return int(sum), nil
}

// stopPatience is more than a controller takes to finish its work.
const stopPatience = 40 * time.Second

// stop asks the controller to end, and kills it if it does not.
func (c *process) stop() error {
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-c.done:
	case <-time.After(stopPatience):
		_ = c.cmd.Process.Kill()
		<-c.done
	}
	if c.log == nil {
		return nil
	}
	return c.log.Close()
}

// memory is what the kernel says about a process, in MB: what it holds now, and the most it has held.
type memory struct{ now, peak float64 }

func (c *process) memory() (memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.cmd.Process.Pid))
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

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("finding a free port: %w", err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
