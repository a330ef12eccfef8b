package main

import (
	"fmt"
	"os"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The lines of a page between which the table of the alerts stands.
const (
	alertsBegin = "<!-- alerts -->\n"
	alertsEnd   = "<!-- end of alerts -->\n"
)

// ruleFile is the part of a rule file of Prometheus that the table shows.
type ruleFile struct {
	Groups []struct {
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// documentAlerts writes the alerts of a rule file into a page.
func documentAlerts(rules, page string) error {
	text, err := os.ReadFile(rules)
	if err != nil {
		return err
	}
	var file ruleFile
	if err := yaml.Unmarshal(text, &file); err != nil {
		return fmt.Errorf("reading %s: %w", rules, err)
	}
	var out strings.Builder
	out.WriteString("| Alert | Severity | Meaning | Expression | For |\n|---|---|---|---|---|\n")
	for _, group := range file.Groups {
		for _, r := range group.Rules {
			lasting := r.For
			if lasting == "" {
				lasting = "–"
			}
			fmt.Fprintf(&out, "| `%s` | %s | %s | `%s` | %s |\n", r.Alert, r.Labels["severity"], r.Annotations["summary"], strings.ReplaceAll(r.Expr, "|", `\|`), lasting)
		}
	}
	return insert(page, alertsBegin, alertsEnd, out.String())
}
