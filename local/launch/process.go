package launch

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// process is a running process, with the path that it was started by.
type process struct {
	pid     int
	program string
}

func (p process) name() string { return filepath.Base(p.program) }

// below matches the processes whose program path lies below dir. Every program of a cluster is started through a link in the cluster's own
// directory, so this finds exactly its processes, regardless of who started them and of their current parent.
func below(dir string) func(process) bool {
	return func(p process) bool { return strings.HasPrefix(p.program, dir+string(filepath.Separator)) }
}

// startedAs matches the processes of one program.
func startedAs(program string) func(process) bool {
	return func(p process) bool { return p.program == program }
}

// running lists the living processes that match. Zombies have no command line and are not listed.
func running(match func(process) bool) ([]process, error) {
	all, err := listProcesses()
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	return slices.DeleteFunc(all, func(p process) bool { return !match(p) }), nil
}

// killPatience bounds the wait for killed processes to disappear.
const killPatience = 10 * time.Second

// kill kills every matching process until none is left. A temporary cluster needs no graceful stop.
func kill(match func(process) bool) error {
	deadline := time.Now().Add(killPatience)
	for {
		found, err := running(match)
		if err != nil {
			return err
		}
		if len(found) == 0 {
			return nil
		}
		for _, p := range found {
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("killing %s (process %d): %w", p.name(), p.pid, err)
			}
			reap(p.pid)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("killing %s (process %d): it still runs after %s", found[0].name(), found[0].pid, killPatience)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// reap collects the exit status of pid if it is a child of this process (see adoptOrphans), so that no zombie stays behind.
func reap(pid int) {
	for range 50 {
		got, err := syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		if got == pid || (err != nil && !errors.Is(err, syscall.EINTR)) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
