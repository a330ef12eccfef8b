package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPanelsAreLaidOutFromLeftToRight(t *testing.T) {
	text, err := render("x", []byte(`
title: X
variables: [nodepool]
rows:
  - title: One
    panels:
      - {title: a, type: stat, width: 8, unit: short, queries: [{expr: up}]}
      - {title: b, unit: s, queries: [{expr: up, legend: '{{job}}'}, {expr: 1 < 2}]}
      - {title: c, unit: s, queries: [{expr: up}]}
  - title: Two
    panels:
      - {title: d, type: text, width: 24, height: 3, text: hello}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		UID    string
		Panels []struct {
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ RefID, Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	want := map[string][4]int{"One": {0, 0, 24, 1}, "a": {0, 1, 8, 4}, "b": {8, 1, 12, 8}, "c": {0, 9, 12, 8}, "Two": {0, 17, 24, 1}, "d": {0, 18, 24, 3}}
	for _, p := range got.Panels {
		if at := [4]int{p.GridPos.X, p.GridPos.Y, p.GridPos.W, p.GridPos.H}; at != want[p.Title] {
			t.Errorf("%s is at %v, want %v", p.Title, at, want[p.Title])
		}
	}
	b := got.Panels[2].Targets
	if got.UID != "karpenter-x" || len(got.Panels) != len(want) || b[0].LegendFormat != "{{job}}" || b[1].RefID != "B" || b[1].Expr != "1 < 2" {
		t.Errorf("the dashboard is\n%s", text)
	}
}

func TestWrongDescriptionsAreRefused(t *testing.T) {
	for text, want := range map[string]string{
		"variables: [zone]":                       `there is no variable "zone"`,
		"rows: [{panels: [{titel: a}]}]":          "field titel not found",
		"rows: [{panels: [{width: wide}]}]":       "wide",
		"rows: [{panels: [{queries: [{e: up}]}]}": "did not find expected",
	} {
		if _, err := render("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func TestTableOfAlerts(t *testing.T) {
	dir := t.TempDir()
	rules, page := filepath.Join(dir, "rules.yaml"), filepath.Join(dir, "page.md")
	for name, text := range map[string]string{
		rules: "groups: [{name: g, rules: [{alert: A, expr: 'a{b=~\"c|d\"} > 1', for: 5m, labels: {severity: warning}, annotations: {summary: It is so}}, {alert: B, expr: b}]}]",
		page:  "x\n" + alertsBegin + "stale\n" + alertsEnd,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := documentAlerts(rules, page); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	want := "x\n" + alertsBegin + "| Alert | Severity | Meaning | Expression | For |\n|---|---|---|---|---|\n" +
		"| `A` | warning | It is so | `a{b=~\"c\\|d\"} > 1` | 5m |\n| `B` |  |  | `b` | – |\n" + alertsEnd
	if string(got) != want {
		t.Errorf("the page is\n%s\nwant\n%s", got, want)
	}
}
