package launch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/karpenter-anew/karpenter/local/binaries"
)

// recordedComponents is the part of kwokctl's record that says how a component is started.
type recordedComponents struct {
	Components []recordedComponent `json:"components"`
}

type recordedComponent struct {
	Name    string   `json:"name"`
	Binary  string   `json:"binary"`
	Args    []string `json:"args"`
	WorkDir string   `json:"workDir"`
}

// RestartAPIServer kills the API server of the running cluster in dir, keeps it down for the given time, starts it again with the same
// arguments and data, and returns when it is ready. With dir "" it takes the only running cluster of this user.
func RestartAPIServer(ctx context.Context, cache binaries.Cache, dir string, down time.Duration, log io.Writer) error {
	if dir == "" {
		only, err := onlyCluster(registryOf(cache))
		if err != nil {
			return err
		}
		dir = only
	}
	l := layout{dir: dir}
	server, err := readComponent(l, apiServer)
	if err != nil {
		return err
	}
	if err := os.WriteFile(l.restarting(), []byte(apiServer), 0o600); err != nil {
		return fmt.Errorf("restarting the API server: %w", err)
	}
	defer func() { _ = os.Remove(l.restarting()) }()
	if err := kill(startedAs(server.Binary)); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(log, "control plane: API server down for %s\n", down)
	select {
	case <-ctx.Done():
		// Leaving it down would make the launcher take the whole cluster away; being quick is better.
	case <-time.After(down):
	}
	begin := time.Now()
	if err := spawn(l, server); err != nil {
		return err
	}
	client, err := newAPIClient(l, "https://127.0.0.1:"+server.flag("secure-port"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), readyPatience, errors.New("not ready in time"))
	defer cancel()
	if err := client.await(ctx, "/readyz"); err != nil {
		return explain(l, err)
	}
	_, _ = fmt.Fprintf(log, "control plane: API server ready again after %s\n", time.Since(begin).Round(10*time.Millisecond))
	return nil
}

// onlyCluster returns the directory of the one cluster that runs.
func onlyCluster(reg registry) (string, error) {
	dead, alive, err := reg.orphans()
	for _, c := range dead {
		_ = c.file.Close() // leave it to the next sweep
	}
	if err != nil {
		return "", err
	}
	switch len(alive) {
	case 1:
		return alive[0].Dir, nil
	case 0:
		return "", errors.New("no cluster is running; start one with `up`")
	}
	dirs := make([]string, 0, len(alive))
	for _, rec := range alive {
		dirs = append(dirs, rec.Dir)
	}
	return "", fmt.Errorf("%d clusters are running; name one with --workdir: %s", len(alive), strings.Join(dirs, ", "))
}

func readComponent(l layout, name string) (recordedComponent, error) {
	text, err := os.ReadFile(l.components())
	if err != nil {
		return recordedComponent{}, fmt.Errorf("reading how %s was started (is %s the directory of a running cluster?): %w", name, l.dir, err)
	}
	var recorded recordedComponents
	if err := yaml.Unmarshal(text, &recorded); err != nil {
		return recordedComponent{}, fmt.Errorf("reading how %s was started: %w", name, err)
	}
	for _, c := range recorded.Components {
		if c.Name == name {
			return c, nil
		}
	}
	return recordedComponent{}, fmt.Errorf("reading how %s was started: %s does not mention it", name, l.components())
}

// flag returns the value of --name=value among the arguments; the last one wins.
func (c recordedComponent) flag(name string) string {
	value := ""
	for _, arg := range c.Args {
		if rest, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			value = rest
		}
	}
	return value
}

// spawn starts a component as kwokctl does: in a separate session, logging to its file, with its process id recorded.
func spawn(l layout, c recordedComponent) error {
	log, err := os.OpenFile(l.log(c.Name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o640)
	if err != nil {
		return fmt.Errorf("starting %s: %w", c.Name, err)
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(c.Binary, c.Args...)
	cmd.Dir = c.WorkDir
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", c.Name, err)
	}
	pid := cmd.Process.Pid
	if err := cmd.Process.Release(); err != nil {
		return fmt.Errorf("letting %s go: %w", c.Name, err)
	}
	if err := os.WriteFile(l.pid(c.Name), []byte(strconv.Itoa(pid)), 0o640); err != nil {
		return fmt.Errorf("recording the process of %s: %w", c.Name, err)
	}
	return nil
}
