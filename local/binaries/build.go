package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// stillBuilding is the time between two progress lines of a long build.
const stillBuilding = 20 * time.Second

// Ensure builds the programs that are missing from the cache, one after the other, and reports its progress to out. With an archive in
// ArchiveEnv it takes all of them from there and builds none. Several callers may run at once: one builds, the others wait for it. A
// program appears under its name only when it is complete.
func Ensure(ctx context.Context, cache Cache, modules Modules, out io.Writer) error {
	todo, err := cache.missing()
	if err != nil || len(todo) == 0 {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(cache.Root, cache.Versions.Key(), "lock"), func() {
		say(out, "another process is building the control plane; waiting for it")
	})
	if err != nil {
		return err
	}
	defer unlock()
	if todo, err = cache.missing(); err != nil || len(todo) == 0 {
		return err
	}
	if source := SourceFromEnv(); source.Base != "" {
		return source.install(ctx, cache, out)
	}
	return buildAll(ctx, cache, modules, todo, out)
}

func buildAll(ctx context.Context, cache Cache, modules Modules, todo []program, out io.Writer) error {
	if _, err := exec.LookPath("go"); err != nil {
		return fmt.Errorf("building the control plane needs the go command (1.26 or newer) in PATH: %w", err)
	}
	work, err := os.MkdirTemp(filepath.Dir(cache.Bin()), "build-")
	if err != nil {
		return fmt.Errorf("making a build directory: %w", err)
	}
	defer func() { _ = os.RemoveAll(work) }()
	for folder, module := range map[string]Module{kubernetesModule: modules.Kubernetes, etcdModule: modules.Etcd} {
		if err := module.write(filepath.Join(work, folder)); err != nil {
			return fmt.Errorf("writing the build module: %w", err)
		}
	}
	if err := os.MkdirAll(cache.Bin(), 0o755); err != nil {
		return fmt.Errorf("making the cache directory: %w", err)
	}
	say(out, "building %d programs into %s (once per version; a cold build of all takes about 10 minutes on two cores)",
		len(todo), cache.Bin())
	start := time.Now()
	progress := newProgress(todo)
	for i, p := range todo {
		step := fmt.Sprintf("[%d/%d] %s %s", i+1, len(todo), p.name, p.version)
		began := time.Now()
		if err := buildOne(ctx, cache, p, progress, work, step, out); err != nil {
			return err
		}
		progress.finish(p, time.Since(began))
	}
	say(out, "control plane built in %s", time.Since(start).Round(time.Second))
	return nil
}

// write writes the module into a new folder.
func (m Module) write(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(folder, "go.mod"), m.GoMod, 0o644), os.WriteFile(filepath.Join(folder, "go.sum"), m.GoSum, 0o644))
}

func buildOne(ctx context.Context, cache Cache, p program, progress *progress, work, step string, out io.Writer) error {
	outDir := filepath.Join(work, "out")
	if err := os.MkdirAll(outDir, 0o755); err != nil {
		return fmt.Errorf("making a build directory: %w", err)
	}
	start := time.Now()
	say(out, "%s", step)
	done := make(chan error, 1)
	cmd := p.command(cache.Versions.Kubernetes, work, outDir)
	// A go.work file, vendoring flags or a cross-compiling environment of the caller must not leak into this build.
	cmd.Env = append(cmd.Env, "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	go func() { done <- run(ctx, cmd) }()
	alive := time.NewTicker(stillBuilding)
	defer alive.Stop()
	for {
		select {
		case err := <-done:
			if err != nil {
				return fmt.Errorf("building %s %s: %w", p.name, p.version, err)
			}
			if err := os.Rename(filepath.Join(outDir, p.name), cache.Path(p.name)); err != nil {
				return fmt.Errorf("putting %s in its place: %w", p.name, err)
			}
			say(out, "%s done in %s", step, time.Since(start).Round(time.Second))
			return nil
		case <-alive.C:
			say(out, "%s still compiling, %s (%s)", step, time.Since(start).Round(time.Second), progress.text(p, time.Since(start)))
		}
	}
}

// run runs cmd in its own process group, so that the compilers it starts end with it, and returns the last lines it printed when it fails.
func run(ctx context.Context, cmd *exec.Cmd) error {
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) })
	defer stop()
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			return errors.New("interrupted; the programs built so far are kept")
		}
		return fmt.Errorf("%w\n%s", err, lastLines(output.String(), 20))
	}
	return nil
}

func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func say(out io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintf(out, "control plane: "+format+"\n", args...)
}
