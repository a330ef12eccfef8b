package console

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/karpenter-anew/karpenter/internal/command"
	"github.com/karpenter-anew/karpenter/test/commandtest"
)

// consoleLine is a command line with this subcommand alone.
type consoleLine struct {
	Console Command `cmd:""`
}

func newLine() *consoleLine { return &consoleLine{New(commandtest.Binary())} }

// TestMistakesOfTheCommandLine: they are said before anything is read.
func TestMistakesOfTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"--listen=:8090":                        "add --insecure-listen",
		"--listen=0.0.0.0:1":                    "can be reached by other hosts",
		"--refresh=0s":                          "--refresh has to be positive",
		"--refresh=soon":                        "--refresh",
		"--snapshot=/none/at/all":               "no such file",
		"--snapshot=x --context=y":              "--snapshot replaces a live cluster",
		"--snapshot=testdata/none --nowhere=at": "unknown flag --nowhere",
	} {
		if got := commandtest.Run(newLine(), "", append([]string{"console"}, strings.Fields(args)...)...); got.Exit != "2\n" || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit code %s%s, want %q", args, got.Exit, got.Stderr, want)
		}
	}
}

// TestServesUntilInterrupted: the address is on standard output, the views are served there, and an interrupt ends the command.
func TestServesUntilInterrupted(t *testing.T) {
	out, in := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- commandtest.Code(newLine(), command.Streams{Out: in, Err: io.Discard}, "console", "--listen=127.0.0.1:0", "--snapshot=../../../examples/explain/shop.yaml")
		_ = in.Close()
	}()
	first, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSuffix(strings.TrimSpace(strings.TrimPrefix(first, "karpenter console: serving ")), "/")
	ask := func(method, path, body string) []byte {
		t.Helper()
		request, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			t.Fatalf("%s %s: %s %s %v", method, path, response.Status, text, err)
		}
		return text
	}
	var fleet struct{ Nodes []struct{ Name string } }
	if err := json.Unmarshal(ask(http.MethodGet, "/api/v1/fleet", ""), &fleet); err != nil || len(fleet.Nodes) != 2 {
		t.Errorf("%+v %v", fleet, err)
	}
	wantUnchanged(t, ask(http.MethodPost, "/api/v1/edit", string(ask(http.MethodGet, "/api/v1/manifests", ""))))
	if err := syscall.Kill(os.Getpid(), syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != int(command.ExitOK) {
		t.Errorf("an interrupt ends it with %d", code)
	}
}

// wantUnchanged checks that the manifests that the console shows are no edit.
func wantUnchanged(t *testing.T, text []byte) {
	t.Helper()
	var diff struct {
		Edited []struct{ Kind, Name, Change string }
		Notes  []string
	}
	if err := json.Unmarshal(text, &diff); err != nil || len(diff.Edited) < 2 {
		t.Fatalf("%v %s", err, text)
	}
	for _, e := range diff.Edited {
		if e.Change != "unchanged" {
			t.Errorf("%s %q as it is shown is %s", e.Kind, e.Name, e.Change)
		}
	}
	if len(diff.Notes) > 0 {
		t.Errorf("notes: %q", diff.Notes)
	}
}
