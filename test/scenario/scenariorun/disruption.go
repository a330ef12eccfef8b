package scenariorun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/karpenter-anew/karpenter/internal/core/disrupt"
)

// record is a log line of the controller, with the fields of lines about disruption.
type record struct {
	Message   string
	Command   string
	CommandID string `json:"command-id"`
	Method    string
	Node      struct{ Name string }
	Why       string
	Error     string
	Nodes     []struct{ Node struct{ Name string } } `json:"disrupted-nodes"`
	Launches  []map[string]string                    `json:"replacement-nodes"`
}

// command is what the log says about one command.
type command struct {
	method, text, state string
	nodes               []string
	launches            []string
	dropped             []string
}

// commandText parses the text of a command: reason, ID, decision, and savings in dollars per hour.
var commandText = regexp.MustCompile(`^(\w+)/[^:]*: ([\w-]+): .*\(savings: \$(-?[\d.]+)\)$`)

// generatedName is a NodeClaim with its name, which differs from run to run.
var generatedName = regexp.MustCompile(`nodeclaim "[^"]*"`)

// Disruption summarizes disruption from the JSON log of a controller at level debug: every command with its method, its nodes,
// its launches and its progress, in the order of the proposals; then for every other of these nodes why it is not disrupted.
func Disruption(log []byte, nodes []string) (string, error) {
	commands, byID, kept := []*command{}, map[string]*command{}, map[string]string{}
	for line := range bytes.Lines(log) {
		var r record
		if json.Unmarshal(line, &r) != nil {
			continue // no log line, but for instance one of a stack trace
		}
		switch c := byID[r.CommandID]; {
		case r.Message == "proposing disruption":
			parts := commandText.FindStringSubmatch(r.Command)
			if parts == nil {
				return "", fmt.Errorf("the text of a command cannot be read: %q", r.Command)
			}
			c = &command{method: r.Method, state: "proposed"}
			for _, n := range r.Nodes {
				c.nodes = append(c.nodes, n.Node.Name)
				delete(kept, n.Node.Name)
			}
			slices.Sort(c.nodes)
			c.text = fmt.Sprintf("(%s): %s %s", parts[1], parts[2], strings.Join(c.nodes, ", "))
			if parts[1] != string(disrupt.Drifted) && parts[1] != string(disrupt.Unhealthy) { // these are not about money
				c.text += fmt.Sprintf(", saving $%s/h", parts[3])
			}
			for _, launch := range r.Launches {
				c.launches = append(c.launches, fmt.Sprintf("%s: %s", launch["capacity-type"], launch["instance-types"]))
			}
			byID[r.CommandID] = c
			commands = append(commands, c)
		case c == nil && r.Message == "node is left alone" && slices.Contains(nodes, r.Node.Name):
			kept[r.Node.Name] = r.Why
		case c == nil:
		case r.Message == "disrupting node(s)":
			c.state = "started"
		case r.Message == "node is no longer valid for disruption":
			if c.state == "proposed" {
				c.state = "rejected"
			}
			c.dropped = append(c.dropped, r.Node.Name+": "+r.Error)
			c.nodes = slices.DeleteFunc(c.nodes, func(n string) bool { return n == r.Node.Name })
		case r.Message == "failed to disrupt nodes":
			c.state = "failed"
			c.dropped = append(c.dropped, generatedName.ReplaceAllString(r.Error, "nodeclaim"))
		}
	}
	return render(commands, kept), nil
}

func render(commands []*command, kept map[string]string) string {
	var b strings.Builder
	busy := map[string]bool{}
	for _, c := range commands {
		fmt.Fprintf(&b, "%s %s: %s\n", c.method, c.text, c.state)
		for _, launch := range c.launches {
			fmt.Fprintf(&b, "  launch %s\n", launch)
		}
		slices.Sort(c.dropped)
		for _, text := range c.dropped {
			fmt.Fprintf(&b, "  %s\n", text)
		}
		for _, n := range c.nodes {
			busy[n] = c.state == "proposed" || c.state == "started"
		}
	}
	for _, n := range slices.Sorted(maps.Keys(kept)) {
		if busy[n] {
			continue
		}
		fmt.Fprintf(&b, "keep %s\n", n)
		for _, text := range reasons(kept[n]) {
			fmt.Fprintf(&b, "  %s\n", text)
		}
	}
	return b.String()
}

// methods are all methods, that for repair included.
func methods() []disrupt.Method {
	return append([]disrupt.Method{disrupt.Repair()}, disrupt.Methods()...)
}

// reasons takes apart what the log says of a node, and joins the methods that say the same. That a static method is not for the
// node's pool is left out.
func reasons(why string) []string {
	said := map[string]string{}
	method := ""
	for _, piece := range strings.Split(why, "; ") {
		found := false
		for _, m := range methods() {
			if text, ok := strings.CutPrefix(piece, m.Name+": "); ok {
				method, said[m.Name], found = m.Name, text, true
				break
			}
		}
		switch {
		case found:
		case said[method] == "":
			said[method] = piece
		default:
			said[method] += "; " + piece
		}
	}
	var out []string
	if text := said[""]; text != "" {
		out = append(out, text)
	}
	var texts []string
	by := map[string][]string{}
	for _, m := range methods() {
		text := said[m.Name]
		if text == "" || strings.HasSuffix(text, " is not static") {
			continue
		}
		if by[text] == nil {
			texts = append(texts, text)
		}
		by[text] = append(by[text], m.Name)
	}
	for _, text := range texts {
		out = append(out, strings.Join(by[text], ", ")+": "+strings.TrimSpace(text))
	}
	return out
}
