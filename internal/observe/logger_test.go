package observe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"runtime/debug"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-anew/karpenter/internal/observe/logfield"
)

// logLines runs write with a logger on a fixed clock and returns what it wrote.
func logLines(t *testing.T, level string, write func(*slog.Logger)) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(*testing.T) {
		write(LogConfig{Level: level, Output: &out, Commit: "abc1234-dirty"}.Logger())
	})
	return out.String()
}

func TestLogLines(t *testing.T) {
	// head is the beginning of a line, up to the message.
	head := func(level, logger string) string {
		return `{"level":"` + level + `","time":"2000-01-01T00:00:00.000Z","logger":"` + logger + `",`
	}
	for _, tc := range []struct {
		name, level string
		write       func(*slog.Logger)
		want        string
	}{
		{
			"info", "info", func(l *slog.Logger) { l.Info("hello", "nodepool", "general", "pods", 3) },
			head("INFO", "controller") + `"message":"hello","commit":"abc1234-dirty","nodepool":"general","pods":3}`,
		},
		{
			"warn", "", func(l *slog.Logger) { l.Warn("careful") },
			head("WARN", "controller") + `"message":"careful","commit":"abc1234-dirty"}`,
		},
		{
			"error", "error", func(l *slog.Logger) { l.Info("no"); l.Error("broken", "error", errors.New("why")) },
			head("ERROR", "controller") + `"message":"broken","commit":"abc1234-dirty","error":"why"}`,
		},
		{"no debug at info", "info", func(l *slog.Logger) { l.Debug("chatter") }, ``},
		{"structured error", "info", func(l *slog.Logger) {
			err := fmt.Errorf("launching: %w", WithFields(errors.New("no capacity"), slog.String("zone", "a"), slog.String("type", "m-4x")))
			l.Error("failed", "error", err)
		}, head("ERROR", "controller") + `"message":"failed","commit":"abc1234-dirty","error":"launching: no capacity (zone=a, type=m-4x)","zone":"a","type":"m-4x"}`},
		{"joined structured errors", "info", func(l *slog.Logger) {
			l.Error("failed", "error", errors.Join(WithFields(errors.New("x"), slog.Int("a", 1)), WithFields(errors.New("y"), slog.Int("b", 2))))
		}, head("ERROR", "controller") + `"message":"failed","commit":"abc1234-dirty","error":"x (a=1)\ny (b=2)","a":1,"b":2}`},
		{"logr name, error and values", "info", func(l *slog.Logger) {
			logr.FromSlogHandler(l.Handler()).WithName("runtime").WithName("metrics").WithValues("controller", "node.termination").Error(errors.New("why"), "failed", "n", 1)
		}, head("ERROR", "controller.runtime.metrics") + `"message":"failed","commit":"abc1234-dirty","controller":"node.termination","error":"why","n":1}`},
		{
			"slog name", "info", func(l *slog.Logger) { l.With("logger", "solver").Info("x") },
			head("INFO", "controller.solver") + `"message":"x","commit":"abc1234-dirty"}`,
		},
		{
			"a field twice", "info", func(l *slog.Logger) {
				err := WithFields(errors.New("x"), slog.String("zone", "b"), slog.String("controller", "y"))
				l.With("controller", "c").Error("failed", "zone", "a", "error", err)
			},
			head("ERROR", "controller") + `"message":"failed","commit":"abc1234-dirty","controller":"c","zone":"a","error":"x (zone=b, controller=y)"}`,
		},
		{
			"no error", "info", func(l *slog.Logger) {
				logr.FromSlogHandler(l.Handler()).Error(nil, "failed")
				l.Info("x", logfield.Error(nil))
			},
			head("ERROR", "controller") + `"message":"failed","commit":"abc1234-dirty"}` + "\n" + head("INFO", "controller") + `"message":"x","commit":"abc1234-dirty"}`,
		},
		{
			"duration of a library", "info", func(l *slog.Logger) { l.Info("x", "took", time.Second) },
			head("INFO", "controller") + `"message":"x","commit":"abc1234-dirty","took":"1s"}`,
		},
		{
			"special characters", "info", func(l *slog.Logger) { l.Info("say \"x\"\n<ä>\u0001", "msg", "y") },
			head("INFO", "controller") + `"message":"say \"x\"\n<ä>\u0001","commit":"abc1234-dirty","msg":"y"}`,
		},
		{
			"objects", "info", func(l *slog.Logger) {
				l.Info("x", logfield.NodeClaim("a"), logfield.Pod("default/b"), logfield.Requests(corev1.ResourceList{"cpu": resource.MustParse("500m")}),
					logfield.Allocatable(nil), logfield.Zones(nil))
			},
			head("INFO", "controller") + `"message":"x","commit":"abc1234-dirty","NodeClaim":{"name":"a"},"Pod":{"name":"b","namespace":"default"},` +
				`"requests":{"cpu":"500m"},"allocatable":{},"zones":[]}`,
		},
		{
			"text of an error with an object", "info", func(l *slog.Logger) {
				l.Error("failed", logfield.Error(WithFields(errors.New("x"), logfield.NodeClaim("a"))))
			},
			head("ERROR", "controller") + `"message":"failed","commit":"abc1234-dirty","error":"x (NodeClaim=a)","NodeClaim":{"name":"a"}}`,
		},
		{
			"group", "info", func(l *slog.Logger) { l.WithGroup("pod").Info("x", "logger", "mine", "err", "e") },
			head("INFO", "controller") + `"message":"x","commit":"abc1234-dirty","pod":{"logger":"mine","err":"e"}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := strings.TrimSuffix(logLines(t, tc.level, tc.write), "\n")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDebugAddsCallerAndDropsEventChatter(t *testing.T) {
	got := logLines(t, "debug", func(l *slog.Logger) {
		bridge := logr.FromSlogHandler(l.Handler())
		bridge.WithName("events").V(1).Info("event chatter")
		bridge.WithName("events").Info("event news")
		bridge.V(1).Info("verbose")
		bridge.V(5).Info("too verbose")
		l.Debug("mine")
	})
	if !regexp.MustCompile(`"caller":"observe/logger_test.go:\d+"`).MatchString(got) {
		t.Errorf("no caller:\n%s", got)
	}
	for text, want := range map[string]bool{"event chatter": false, "event news": true, `"logger":"controller","caller"`: true, "too verbose": false, "mine": true} {
		if strings.Contains(got, text) != want {
			t.Errorf("%q present is %v, want %v:\n%s", text, !want, want, got)
		}
	}
	if info := logLines(t, "info", func(l *slog.Logger) { l.Info("x") }); strings.Contains(info, "caller") {
		t.Errorf("caller at info: %s", info)
	}
}

func TestSampling(t *testing.T) {
	got := logLines(t, "info", func(l *slog.Logger) {
		for i := range 350 {
			l.Info("same", "i", i)
		}
		for i := range 5 {
			l.Info(fmt.Sprint("other ", i))
		}
		l.Error("same")
		time.Sleep(time.Second) // of the bubble's clock
		l.Info("same")
	})
	same := 0
	for line := range strings.Lines(got) {
		var fields map[string]any
		if err := json.Unmarshal([]byte(line), &fields); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if fields["message"] == "same" && fields["level"] == "INFO" {
			same++
		}
	}
	if same != 100+2+1 {
		t.Errorf("%d lines, want the first 100, the 200th and 300th, and one in the next second", same)
	}
	if !strings.Contains(got, `"level":"ERROR"`) || strings.Count(got, "other") != 5 {
		t.Errorf("other lines are affected:\n%s", got)
	}
}

// brokenWriter fails.
type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestFailuresOfTheLoggerAreReported(t *testing.T) {
	var problems bytes.Buffer
	l := LogConfig{Output: brokenWriter{}, Errors: &problems}.Logger()
	l.Info("x")
	if !strings.Contains(problems.String(), "disk full") {
		t.Errorf("reported: %q", problems.String())
	}
	if err := l.Handler().Handle(context.Background(), slog.Record{}); err == nil {
		t.Error("no error returned")
	}
}

func TestCommit(t *testing.T) {
	for _, tc := range []struct {
		settings []debug.BuildSetting
		want     string
	}{
		{nil, ""},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "false"}}, "0123456"},
		{[]debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.modified", Value: "true"}}, "0123456-dirty"},
		{[]debug.BuildSetting{{Key: "vcs.modified", Value: "true"}}, ""},
	} {
		if got := commit(tc.settings); got != tc.want {
			t.Errorf("commit(%v) = %q, want %q", tc.settings, got, tc.want)
		}
	}
	const when = "2026-11-25T02:00:00Z"
	if got := date([]debug.BuildSetting{{Key: "vcs.revision", Value: "0123456"}, {Key: "vcs.time", Value: when}}); got != when {
		t.Errorf("date: %q, want %q", got, when)
	}
	if b := ReadBuild("v1.2.3"); b.Version != "v1.2.3" || b.GoVersion == "" || b.GoOS == "" || b.GoArch == "" {
		t.Errorf("build: %+v", b)
	}
	if b := ReadBuild(""); b.Version == "" {
		t.Errorf("no version: %+v", b)
	}
}

func TestLoggedErrorsAreDropped(t *testing.T) {
	lost := Logged(errors.New("the lease is lost"))
	for _, tc := range []struct {
		name string
		err  error
		want bool
	}{
		{"marked", lost, false},
		{"wrapped", fmt.Errorf("launching: %w", &url.Error{Op: "Post", URL: "https://host", Err: lost}), false},
		{"joined with itself", errors.Join(lost, fmt.Errorf("deleting: %w", lost)), false},
		{"joined with another", errors.Join(lost, errors.New("why")), true},
		{"another", fmt.Errorf("launching: %w", errors.New("why")), true},
	} {
		out := logLines(t, "info", func(l *slog.Logger) { logr.FromSlogHandler(l.Handler()).Error(tc.err, "Reconciler error") })
		if got := out != ""; got != tc.want {
			t.Errorf("%s: logged %t, want %t", tc.name, got, tc.want)
		}
	}
}
