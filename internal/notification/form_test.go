package notification

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	opsv1alpha1 "github.com/karpenter-anew/karpenter/api/ops/v1alpha1"
	"github.com/karpenter-anew/karpenter/internal/ledger"
	"github.com/karpenter-anew/karpenter/internal/options"
)

// queued takes the next message out of the queue.
func (b *bench) queued() message {
	b.t.Helper()
	select {
	case m := <-b.queue:
		return m
	default:
		b.t.Fatal("nothing is queued")
		return message{}
	}
}

func (b *bench) slackText() string {
	b.t.Helper()
	var got map[string]any
	if err := json.Unmarshal(b.queued().body, &got); err != nil {
		b.t.Fatal(err)
	}
	if got["mrkdwn"] != false || got["unfurl_links"] != false || got["unfurl_media"] != false {
		b.t.Errorf("%v", got)
	}
	return got["text"].(string)
}

func TestMessagesForSlack(t *testing.T) {
	b := newBench(t, someURL, nil, slack)
	b.Plan(planIn(opsv1alpha1.PlanProposed, "every disruption has to be approved"))
	want := `DisruptionPlan drifted-1a2b3c4d5e is proposed in cluster blue
replace 2 node(s) of default for Drifted: node-1, node-2
Adds $0.250000/h, evicts 4 pod(s), 2 of them without protection
every disruption has to be approved
Decide until 2027-03-02 08:00 UTC: karpenter plan show drifted-1a2b3c4d5e`
	if got := b.slackText(); got != want {
		t.Errorf("got:\n%s", got)
	}
	failed := commandThat(ledger.CommandFailed)
	failed.Error = "no capacity"
	for i := range 9 {
		failed.Nodes, failed.NodeClaims = append(failed.Nodes, fmt.Sprint("more-", i)), append(failed.NodeClaims, "claim")
	}
	b.Command(failed, "1.500000")
	want = `Command 4711 has failed in cluster blue
delete 10 node(s) of default for Empty: node-1, more-0, more-1, more-2, more-3, and 5 more
Saves $1.500000/h
no capacity`
	if got := b.slackText(); got != want {
		t.Errorf("got:\n%s", got)
	}
}

// Users choose the reason of a decision: it can mention no channel, link to nothing and look like no further line.
func TestFieldsOfSlackAreEscaped(t *testing.T) {
	b := newBench(t, someURL, nil, slack)
	rejected := planIn(opsv1alpha1.PlanRejected, "by eve: <!channel> @here <https://evil.example.com|click> & *bold*\nDecided by root")
	rejected.Spec.Decision = &opsv1alpha1.PlanDecision{By: "<@U1>", Verdict: opsv1alpha1.VerdictRejected}
	b.Plan(rejected)
	got := b.slackText()
	if strings.ContainsAny(got, "<>") || strings.Contains(got, "@here") || strings.Contains(got, "\nDecided by root") {
		t.Errorf("got:\n%s", got)
	}
	if !strings.Contains(got, "&lt;!channel&gt; @\u200bhere &lt;https://evil.example.com|click&gt; &amp; *bold* Decided by root\nDecided by &lt;@\u200bU1&gt;") {
		t.Errorf("got:\n%s", got)
	}
}

func TestDocumentsAreBounded(t *testing.T) {
	b := newBench(t, someURL, nil)
	large := planIn(opsv1alpha1.PlanExecuted, strings.Repeat("x", 1024))
	large.Spec.Nodes = nil
	for i := range 200 {
		name := fmt.Sprintf("%s%d", strings.Repeat("n", 250), i)
		large.Spec.Nodes = append(large.Spec.Nodes, opsv1alpha1.PlannedNode{Name: name, NodeClaim: name, NodePool: "default"})
		large.Status.Launched = append(large.Status.Launched, name)
	}
	b.Plan(large)
	var got Document
	if m := b.queued(); json.Unmarshal(m.body, &got) != nil || got.Data.NodeCount != 200 || len(got.Data.Nodes) != 50 || len(got.Data.Launched) != 50 {
		t.Errorf("%d nodes, %d are named", got.Data.NodeCount, len(got.Data.Nodes))
	}
	for i := range large.Spec.Nodes { // a pool for each node, with names that are longer than the API permits
		large.Spec.Nodes[i].NodePool = fmt.Sprint(strings.Repeat("p", 400), i)
	}
	b.Plan(large)
	b.wantDropped("too_large", 1)
}

// The page has every event, every field, and an example that is a document.
func TestPageHasTheSchema(t *testing.T) {
	raw, err := os.ReadFile("../../docs/notifications.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(raw)
	_, rest, _ := strings.Cut(page, "```json\n")
	example, _, _ := strings.Cut(rest, "```")
	var document Document
	decoder := json.NewDecoder(strings.NewReader(example))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&document); err != nil || document.Version != Version || document.Data.Plan == nil {
		t.Errorf("the example is no document: %v", err)
	}
	for _, event := range options.AllNotificationEvents() {
		if !strings.Contains(page, "`"+string(event)+"`") {
			t.Errorf("the page does not have the event %s", event)
		}
	}
	for _, form := range []any{Document{}, Data{}, Plan{}} {
		for field := range reflect.TypeOf(form).Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !strings.Contains(page, name+"`") {
				t.Errorf("the page does not have the field %s", name)
			}
		}
	}
}

func TestTargetsAreValidated(t *testing.T) {
	dir := t.TempDir()
	o := options.Notifications{URLFile: filepath.Join(dir, "url"), SecretFile: filepath.Join(dir, "secret")}
	for _, c := range []struct{ url, secret, want string }{
		{"https://host/path", secretOf('a'), ""},
		{"https://host/path", secretOf('a') + " " + secretOf('b'), ""},
		{"http://127.0.0.1:8080/", secretOf('a'), ""},
		{"http://[::1]/", secretOf('a'), ""},
		{"http://localhost/", secretOf('a'), ""},
		{"http://host/path", secretOf('a'), "must begin with https://"},
		{"http://127.0.0.1.example.com/", secretOf('a'), "must begin with https://"},
		{"file:///etc/passwd", secretOf('a'), "has no host"},
		{"", secretOf('a'), "has no host"},
		{"https://user:topsecret@host/", secretOf('a'), "must not have a user name or password"},
		{strings.Repeat("u", maxFile+1), secretOf('a'), "has more than"},
		{"https://host", "", "must be 1 to 4 secrets"},
		{"https://host", "topsecret", "whsec_"},
		{"https://host", "whsec_dG9vc2hvcnQ=", "24 to 64 bytes"},
		{"https://host", strings.Repeat(secretOf('a')+" ", 5), "must be 1 to 4 secrets"},
	} {
		write(t, o.URLFile, c.url)
		write(t, o.SecretFile, c.secret)
		_, err := readTarget(o)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topsecret")) {
			t.Errorf("%q, %q: %v", c.url, c.secret, err)
		}
	}
	o.URLFile += "-missing"
	if _, err := New(Settings{Options: o}); err == nil {
		t.Error("a notifier has no URL")
	}
}
