package stages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/itchyny/gojq"
	"sigs.k8s.io/yaml"
)

// evaluate returns what an expression that uses the definitions says about a pod, as the simulator does: nothing if it fails or is null.
func evaluate(t *testing.T, expr string, pod any) string {
	t.Helper()
	query, err := gojq.Parse(strings.ReplaceAll(expr, podMark, definitions()))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	value, ok := query.Run(pod).Next()
	if !ok || value == nil {
		return ""
	}
	return fmt.Sprint(value)
}

func TestTermination(t *testing.T) {
	const sleep, command = `{preStop: {sleep: {seconds: 4}}}`, `{preStop: {exec: {command: [/bin/sh, -c, "sleep 4 && echo"]}}}`
	for _, c := range []struct{ annotations, first, second, kind, end string }{
		{"{}", "{}", "{}", "prompt", "00:00:01"},
		{"{}", "{}", "{postStart: {sleep: {seconds: 4}}}", "prompt", "00:00:01"},
		{"{}", "{}", "{preStop: {httpGet: {port: 80}}}", "prompt", "00:00:01"},
		{"{}", "{}", "{preStop: {exec: {command: [stop]}}}", "prompt", "00:00:01"},
		{"{}", "{}", sleep, "slow", "00:00:05"},
		{"{}", sleep, "{preStop: {sleep: {seconds: 2}}}", "slow", "00:00:05"},
		{"{}", "{}", command, "slow", "00:00:05"},
		{"{local.karpenter-anew.dev/terminate-after: 3s}", "{}", sleep, "slow", "00:00:08"},
		{"{local.karpenter-anew.dev/terminate-after: soon}", "{}", "{}", "prompt", "00:00:01"},
		{"{}", "{}", "{preStop: {sleep: {seconds: 30}}}", "killed", "00:00:31"},
		{"{local.karpenter-anew.dev/ignore-sigterm: \"true\"}", "{}", "{}", "killed", "00:00:01"},
	} {
		var pod any
		text := fmt.Sprintf(`{metadata: {annotations: %s, deletionTimestamp: "2026-01-01T00:00:30Z", deletionGracePeriodSeconds: 30}, spec: {containers: [{lifecycle: %s}, {lifecycle: %s}]}}`, c.annotations, c.first, c.second)
		if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
			t.Fatal(err)
		}
		if got := evaluate(t, "@pod@ termination", pod); got != c.kind {
			t.Errorf("%s: the end is %q, want %q", text, got, c.kind)
		}
		if got := evaluate(t, "@pod@ terminated", pod); got != "2026-01-01T"+c.end+"Z" {
			t.Errorf("%s: terminated at %s, want %s", text, got, c.end)
		}
	}
}

func TestFailing(t *testing.T) {
	for text, want := range map[string]bool{
		"{spec: {containers: [{}]}}":                                                                            false,
		"{spec: {containers: [{command: [sh, -c, exit 0]}]}}":                                                   false,
		"{spec: {containers: [{}, {command: [sh, -c], args: [\"sleep 1; exit 3\"]}]}}":                          true,
		"{metadata: {annotations: {local.karpenter-anew.dev/fail-after: 9s}}, spec: {containers: [{}]}}":        true,
		"{metadata: {annotations: {local.karpenter-anew.dev/run-for: 9s}}, spec: {containers: [{name: exit}]}}": false,
	} {
		var pod any
		if err := yaml.Unmarshal([]byte(text), &pod); err != nil {
			t.Fatal(err)
		}
		if got := evaluate(t, "@pod@ fails", pod); (got != "") != want {
			t.Errorf("%s: fails: %q, want %t", text, got, want)
		}
	}
}

// TestExpressionsParse: the simulator ignores what it cannot parse, or fails on it in the middle of a run.
func TestExpressionsParse(t *testing.T) {
	all, err := YAML()
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, text := range strings.Split(string(all), "\n---\n") {
		var stage struct {
			Spec struct {
				Selector struct{ MatchExpressions []struct{ Key string } }
				Delay    struct {
					DurationFrom struct{ ExpressionFrom string }
				}
			}
		}
		if err := yaml.Unmarshal([]byte(text), &stage); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		expressions := []string{stage.Spec.Delay.DurationFrom.ExpressionFrom}
		for _, e := range stage.Spec.Selector.MatchExpressions {
			expressions = append(expressions, e.Key)
		}
		for _, e := range expressions {
			if e == "" {
				continue
			}
			count++
			query, err := gojq.Parse(e)
			if err == nil {
				_, err = gojq.Compile(query)
			}
			if err != nil {
				t.Errorf("%v in %q", err, e)
			}
		}
	}
	if count < 20 {
		t.Errorf("only %d expressions were found", count)
	}
}
