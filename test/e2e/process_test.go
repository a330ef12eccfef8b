package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// shownLines is how much of its log a controller leaves behind when its test failed.
const shownLines = 60

// process is a running controller.
type process struct {
	cmd  *exec.Cmd
	log  string        // path of its log file
	done chan struct{} // closed when it has ended
}

// startProcess starts a controller with exactly these flags beside those that say which cluster and which ports. It does not
// wait for anything.
func (l *lane) startProcess(flags ...string) (*process, error) {
	file, err := os.CreateTemp(l.dir, "controller-*.log")
	if err != nil {
		return nil, err
	}
	p := &process{log: file.Name(), done: make(chan struct{})}
	p.cmd = exec.Command(l.binary, append([]string{
		"controller", "--kubeconfig", l.plane.Kubeconfig, "--metrics-port=0", "--health-probe-port=0", "--log-level=debug",
	}, flags...)...)
	p.cmd.Env = append([]string{"HOME=" + l.dir, "PATH=" + os.Getenv("PATH")}, l.environment...)
	p.cmd.Stdout, p.cmd.Stderr = file, file
	// Ctrl-C at the terminal is for the test, which ends its processes itself.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	go func() {
		_ = p.cmd.Wait() // the exit code is read from the state
		_ = file.Close()
		close(p.done)
	}()
	return p, nil
}

// signal sends a signal; a process that has ended does not mind.
func (p *process) signal(s syscall.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending %s: %w", s, err)
	}
	return nil
}

// kill ends the process between any two of its instructions.
func (p *process) kill() error {
	if err := p.signal(syscall.SIGKILL); err != nil {
		return err
	}
	<-p.done
	return nil
}

// freeze stops the process in its tracks; thaw lets it go on.
func (p *process) freeze() error { return p.signal(syscall.SIGSTOP) }
func (p *process) thaw() error   { return p.signal(syscall.SIGCONT) }

// terminate asks the process to end, as a kubelet does, and returns its exit code.
func (p *process) terminate(within time.Duration) (int, error) {
	if err := p.signal(syscall.SIGTERM); err != nil {
		return 0, err
	}
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode(), nil
	case <-time.After(within):
		return 0, fmt.Errorf("the controller still runs %s after SIGTERM", within)
	}
}

// ended reports whether the process has ended.
func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// logged returns the first record with this message, nil if there is none.
func (p *process) logged(message string) map[string]any {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil
	}
	for line := range bytes.Lines(text) {
		var record map[string]any
		if json.Unmarshal(line, &record) == nil && record["message"] == message {
			return record
		}
	}
	return nil
}

// logSize is how much the process has logged so far, in bytes.
func (p *process) logSize() int64 {
	info, err := os.Stat(p.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// launchedLater names the claims that the log reports from this byte on, but for those of the first pass.
func (p *process) launchedLater(from int64) map[string]bool {
	text, err := os.ReadFile(p.log)
	if err != nil || int64(len(text)) < from {
		return nil
	}
	out, passes := map[string]bool{}, 0
	for line := range bytes.Lines(text[from:]) {
		var record struct{ Message, NodeClaim string }
		if json.Unmarshal(line, &record) != nil {
			continue
		}
		switch record.Message {
		case "computed new nodeclaim(s) to fit pod(s)":
			passes++
		case "created nodeclaim":
			out[record.NodeClaim] = passes > 1
		}
	}
	return out
}

// heardFirst is about how many pods the first pass was that launched anything, by the log from this byte on.
func (p *process) heardFirst(from int64) int {
	text, err := os.ReadFile(p.log)
	if err != nil || int64(len(text)) < from {
		return 0
	}
	for line := range bytes.Lines(text[from:]) {
		var record struct {
			Message   string
			Pods, New int
		}
		// The pods of other messages are names.
		if json.Unmarshal(line, &record) == nil && record.Message == "planned" && record.New > 0 {
			return record.Pods
		}
	}
	return 0
}

// disrupted are the claims that the log says were disrupted for a reason, and how often.
func (p *process) disrupted(reason string) map[string]int {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil
	}
	out := map[string]int{}
	for line := range bytes.Lines(text) {
		var record struct {
			Message, Reason string
			Nodes           []struct{ NodeClaim string } `json:"disrupted-nodes"`
		}
		if json.Unmarshal(line, &record) != nil || record.Message != "disrupting node(s)" || record.Reason != reason {
			continue
		}
		for _, n := range record.Nodes {
			out[n.NodeClaim]++
		}
	}
	return out
}

// tail is the end of the log.
func (p *process) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
}

// get asks one of the endpoints ("metrics" or "health probes") and returns status and body.
func (p *process) get(endpoint, path string) (int, string, error) {
	record := p.logged("serving " + endpoint)
	if record == nil {
		return 0, "", fmt.Errorf("the controller does not serve %s", endpoint)
	}
	_, port, err := net.SplitHostPort(fmt.Sprint(record["address"]))
	if err != nil {
		return 0, "", err
	}
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + net.JoinHostPort("127.0.0.1", port) + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}
