package cloudformation_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePageDescribesTheTemplate checks docs/cloudformation.md: it has every resource, and a row for every statement with the actions
// of the statement, and no others.
func TestThePageDescribesTheTemplate(t *testing.T) {
	text, err := os.ReadFile("../../docs/cloudformation.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	code := regexp.MustCompile("`([^`]+)`")
	rows := map[string][]string{} // the actions of a statement, by its ID
	for line := range strings.Lines(page) {
		cells := strings.Split(line, " | ")
		if len(cells) < 4 || !strings.HasPrefix(cells[0], "| `Allow") {
			continue
		}
		for _, action := range code.FindAllStringSubmatch(cells[1], -1) {
			id := strings.Trim(cells[0], "|` ")
			rows[id] = append(rows[id], action[1])
		}
	}
	statements := 0
	for name, r := range stack(t, clusterName) {
		mentioned := strings.Contains(page, "`"+name+"`") || strings.Contains(page, "### "+name)
		if !mentioned {
			t.Errorf("the page does not describe %s", name)
		}
		if r.Type != "AWS::IAM::ManagedPolicy" {
			continue
		}
		if policy := strings.Replace(r.Properties["ManagedPolicyName"].(string), "-"+clusterName, "-NAME", 1); !strings.Contains(page, "`"+policy+"`") {
			t.Errorf("the page does not name the policy %s", policy)
		}
		for _, s := range document(t, r.Properties["PolicyDocument"]) {
			statements++
			want, got := slices.Sorted(slices.Values(s.Action)), slices.Sorted(slices.Values(rows[s.Sid]))
			if !slices.Equal(want, got) {
				t.Errorf("the page has %v for %s, the template %v", got, s.Sid, want)
			}
			delete(rows, s.Sid)
		}
	}
	for id := range rows {
		t.Errorf("the page describes the statement %s, which is not in the template", id)
	}
	if statements < 15 {
		t.Errorf("the template has %d statements", statements)
	}
	for _, id := range []string{"AllowEvents", "DenyHTTP"} {
		if !strings.Contains(page, "`"+id+"`") {
			t.Errorf("the page does not describe the statement %s of the queue", id)
		}
	}
}
