package notification

import (
	"fmt"
	"strings"

	"github.com/karpenter-anew/karpenter/api/condition"
	"github.com/karpenter-anew/karpenter/internal/options"
)

const (
	// slackNodes is the most nodes that a message names, slackField the most bytes of a field in it.
	slackNodes, slackField = 5, 400
)

// slackMessage is the body of a request to an incoming webhook of Slack.
type slackMessage struct {
	Text string `json:"text"`
	// Mrkdwn is false: the text of fields has no formatting.
	Mrkdwn bool `json:"mrkdwn"`
	// UnfurlLinks and UnfurlMedia are false: Slack fetches no address that is in a field.
	UnfurlLinks bool `json:"unfurl_links"`
	UnfurlMedia bool `json:"unfurl_media"`
}

// slackOf is a document as a message.
func slackOf(d *Document) slackMessage {
	data := &d.Data
	subject := "Command " + field(data.Command)
	if data.Plan != nil {
		subject = "DisruptionPlan " + field(data.Plan.Name)
	}
	lines := []string{subject + " " + happened(d.Type)}
	if d.Cluster != "" {
		lines[0] += " in cluster " + field(d.Cluster)
	}
	lines = append(lines, fmt.Sprintf("%s %d node(s) of %s for %s: %s", field(data.Action), data.NodeCount, field(strings.Join(data.NodePools, ", ")), field(data.Reason), nodeNames(data)))
	if cost := costText(data); cost != "" {
		lines = append(lines, cost)
	}
	if data.Message != "" {
		lines = append(lines, field(data.Message))
	}
	if p := data.Plan; p != nil && p.DecidedBy != "" {
		lines = append(lines, "Decided by "+field(p.DecidedBy))
	}
	if d.Type == options.PlanProposed {
		lines = append(lines, fmt.Sprintf("Decide until %s: karpenter plan show %s", data.Plan.ExpiresAt.Format("2006-01-02 15:04 MST"), field(data.Plan.Name)))
	}
	return slackMessage{Text: strings.Join(lines, "\n")}
}

// happened is the predicate of a sentence about an event.
func happened(e options.NotificationEvent) string {
	switch e {
	case options.PlanExecuting:
		return "is being executed"
	case options.CommandStarted:
		return "has started"
	case options.PlanFailed, options.CommandFailed:
		return "has failed"
	case options.PlanExpired:
		return "has expired"
	default:
		_, word, _ := strings.Cut(string(e), ".")
		return "is " + word
	}
}

// nodeNames names the first nodes.
func nodeNames(data *Data) string {
	var names []string
	for _, n := range data.Nodes[:min(len(data.Nodes), slackNodes)] {
		names = append(names, field(n.Name))
	}
	if more := data.NodeCount - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

// costText says what is saved and what is at risk.
func costText(data *Data) string {
	var parts []string
	if data.SavingsPerHour != "" {
		amount, added := strings.CutPrefix(data.SavingsPerHour, "-")
		verb := "Saves"
		if added {
			verb = "Adds"
		}
		parts = append(parts, verb+" $"+field(amount)+"/h")
	}
	if p := data.Plan; p != nil {
		parts = append(parts, fmt.Sprintf("evicts %d pod(s), %d of them without protection", p.Evictions, p.Risk))
	}
	return strings.Join(parts, ", ")
}

// field escapes the text of a field: it can be no mention, no link and no further line. A zero-width space after @ is for servers that accept the
// format of Slack and let a plain @channel mention all.
func field(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "@", "@\u200b").Replace(condition.Truncate(text, slackField))
}
