package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/karpenter-anew/karpenter/test/process"
)

// shownLines is how much of its log a controller leaves behind when its test failed.
const shownLines = 60

// controller is a running controller and its log.
type controller struct {
	*process.Process
	log string // path of the log file
}

// startController starts a controller with exactly these flags beside those that say which cluster and which ports. It does not
// wait for anything.
func (l *testCluster) startController(flags ...string) (*controller, error) {
	file, err := os.CreateTemp(l.dir, "controller-*.log")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	arguments := append([]string{
		"controller", "--kubeconfig", l.plane.Kubeconfig, "--metrics-port=0", "--health-probe-port=0", "--log-level=debug",
	}, flags...)
	p, err := process.Start(l.binary, arguments, append([]string{"HOME=" + l.dir, "PATH=" + os.Getenv("PATH")}, l.environment...), file)
	if err != nil {
		return nil, err
	}
	return &controller{p, file.Name()}, nil
}

// freeze suspends the process; thaw resumes it.
func (p *controller) freeze() error { return p.Signal(syscall.SIGSTOP) }
func (p *controller) thaw() error   { return p.Signal(syscall.SIGCONT) }

// terminate ends the process as a kubelet does, and returns its exit code.
func (p *controller) terminate(within time.Duration) (int, error) {
	if err := p.Terminate(within); err != nil {
		return 0, err
	}
	return p.State().ExitCode(), nil
}

// logged returns the first record with this message, nil if there is none.
func (p *controller) logged(message string) map[string]any {
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
func (p *controller) logSize() int64 {
	info, err := os.Stat(p.log)
	if err != nil {
		return 0
	}
	return info.Size()
}

// launchedLater names the claims that the log reports from this byte on, but for those of the first pass.
func (p *controller) launchedLater(from int64) map[string]bool {
	text, err := os.ReadFile(p.log)
	if err != nil || int64(len(text)) < from {
		return nil
	}
	out, passes := map[string]bool{}, 0
	for line := range bytes.Lines(text[from:]) {
		var record struct {
			Message   string
			NodeClaim struct{ Name string }
		}
		if json.Unmarshal(line, &record) != nil {
			continue
		}
		switch record.Message {
		case "computed new nodeclaim(s) to fit pod(s)":
			passes++
		case "created nodeclaim":
			out[record.NodeClaim.Name] = passes > 1
		}
	}
	return out
}

// firstPassPods is how many pods the first pass handled that launched nodes, by the log from this byte on.
func (p *controller) firstPassPods(from int64) int {
	text, err := os.ReadFile(p.log)
	if err != nil || int64(len(text)) < from {
		return 0
	}
	for line := range bytes.Lines(text[from:]) {
		var record struct {
			Message string
			Planned int `json:"pods"`
			New     int `json:"nodeclaims"`
		}
		if json.Unmarshal(line, &record) == nil && record.Message == "planned" && record.New > 0 {
			return record.Planned
		}
	}
	return 0
}

// disrupted are the claims that the log says were disrupted for a reason, and how often.
func (p *controller) disrupted(reason string) map[string]int {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return nil
	}
	out := map[string]int{}
	for line := range bytes.Lines(text) {
		var record struct {
			Message, Reason string
			Nodes           []struct{ NodeClaim struct{ Name string } } `json:"disrupted-nodes"`
		}
		if json.Unmarshal(line, &record) != nil || record.Message != "disrupting node(s)" || record.Reason != reason {
			continue
		}
		for _, n := range record.Nodes {
			out[n.NodeClaim.Name]++
		}
	}
	return out
}

// tail is the end of the log.
func (p *controller) tail() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), func(line string) bool {
		return strings.Contains(line, `"logger":"controller.controller-runtime.cache"`) // informers that list and watch
	})
	return strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
}

// get asks one of the endpoints ("metrics" or "health probes") and returns status and body.
func (p *controller) get(endpoint, path string) (int, string, error) {
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
