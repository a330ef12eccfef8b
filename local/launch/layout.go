package launch

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// layout names the files below a cluster's directory.
type layout struct{ dir string }

func (l layout) bin() string        { return filepath.Join(l.dir, "bin") }
func (l layout) config() string     { return filepath.Join(l.dir, "kwokctl.yaml") }
func (l layout) kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }

// kwok is kwokctl's working directory and cluster the one cluster in it.
func (l layout) kwok() string    { return filepath.Join(l.dir, "kwok") }
func (l layout) cluster() string { return filepath.Join(l.kwok(), "clusters", clusterName) }

func (l layout) pki(name string) string { return filepath.Join(l.cluster(), "pki", name) }
func (l layout) log(component string) string {
	return filepath.Join(l.cluster(), "logs", component+".log")
}

func (l layout) pid(component string) string {
	return filepath.Join(l.cluster(), "pids", component+".pid")
}

// components is the file in which kwokctl records how it starts each component.
func (l layout) components() string { return filepath.Join(l.cluster(), "kwok.yaml") }

// restarting exists while a component is stopped on purpose; the launcher does not treat that as a failure.
func (l layout) restarting() string { return filepath.Join(l.dir, "restarting") }

// logTail returns the last n lines of a component's log, or "" if there is none.
func (l layout) logTail(component string, n int) string {
	text, err := os.ReadFile(l.log(component))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// readPID returns the recorded process id of a component, or 0.
func (l layout) readPID(component string) int {
	text, err := os.ReadFile(l.pid(component))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0
	}
	return pid
}
