package logcapture

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Fields checks the fields of JSON log lines: those of one controller after another, which must agree. It is safe for concurrent use.
// The zero value is ready.
type Fields struct {
	mu sync.Mutex
	// types is the JSON type of each field, seen the message of the first line that has it.
	types, seen map[string]string
}

// head is how a line begins. Queries of CloudWatch Logs rely on the order.
var head = regexp.MustCompile(`^\{"level":"[A-Z]+","time":"[^"]+","logger":"[^"]+",("caller":"[^"]*",)?"message":"(?:[^"\\]|\\.)*","commit":"[^"]+"[,}]`)

// life matches the lines about the life of a NodeClaim as queries for upstream's log do.
var life = regexp.MustCompile(`"message":"(created|launched|registered|initialized) nodeclaim","commit":"[^"]+",.*"NodeClaim":\{"name":"([^"]+)"\}`)

// Check returns what is wrong with the lines of one process. Lines that are not JSON objects, such as those of a stack trace, are left
// out, and so is a last line without an end: the process may have been killed.
func (f *Fields) Check(log []byte) (problems []string) {
	launched := map[string]bool{}
	for line := range bytes.Lines(log) {
		if !bytes.HasPrefix(line, []byte("{")) || !bytes.HasSuffix(line, []byte("\n")) {
			continue
		}
		for _, problem := range slices.Concat(f.checkTypes(line), checkLife(line, launched)) {
			problems = append(problems, fmt.Sprintf("%s: %s", problem, bytes.TrimSpace(line)))
		}
	}
	return problems
}

// checkTypes checks that the line begins as all lines do, and that each field appears once and has the type that it has in other lines.
func (f *Fields) checkTypes(line []byte) (problems []string) {
	if !head.Match(line) {
		problems = append(problems, "the line does not begin with level, time, logger, message and commit")
	}
	names, values, err := members(line)
	if err != nil {
		return append(problems, err.Error())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.types == nil {
		f.types, f.seen = map[string]string{}, map[string]string{}
	}
	message := ""
	for i, name := range names {
		if name == "message" {
			message = string(values[i])
		}
	}
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			problems = append(problems, fmt.Sprintf("the field %q appears twice", name))
		}
		form := jsonType(values[i])
		switch known, ok := f.types[name]; {
		case !ok:
			f.types[name], f.seen[name] = form, message
		case known != form:
			problems = append(problems, fmt.Sprintf("the field %q is %s, and %s in %s", name, form, known, f.seen[name]))
		}
		if object := strings.HasPrefix(name, "Node") || name == "Pod"; object && strings.TrimSuffix(name, "s") == name && form != "object" {
			problems = append(problems, fmt.Sprintf("the field %q is %s instead of object", name, form))
		}
	}
	return problems
}

// checkLife checks lines about the life of a NodeClaim. launched has the NodeClaims whose launch is logged.
func checkLife(line []byte, launched map[string]bool) []string {
	var record struct{ Message, Controller, ReconcileID string }
	// Fields of another type are found by checkTypes.
	_ = json.Unmarshal(line, &record)
	step, ok := strings.CutSuffix(record.Message, " nodeclaim")
	if !ok || !slices.Contains([]string{"created", "launched", "registered", "initialized"}, step) {
		return nil
	}
	match := life.FindSubmatch(line)
	if match == nil {
		return []string{"no query for upstream's log finds the NodeClaim"}
	}
	name := string(match[2])
	var problems []string
	switch {
	case step == "created" && launched[name]:
		problems = append(problems, "the launch was logged before the creation")
	case step == "launched":
		launched[name] = true
	}
	if record.Controller == "" || step != "created" && record.ReconcileID == "" {
		problems = append(problems, "controller or reconcileID is missing")
	}
	return problems
}

// members are the names and values of a JSON object in their order, duplicates included.
func members(line []byte) (names []string, values []json.RawMessage, err error) {
	decoder := json.NewDecoder(bytes.NewReader(line))
	if _, err := decoder.Token(); err != nil {
		return nil, nil, fmt.Errorf("the line is not a JSON object: %w", err)
	}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("the line is not a JSON object: %w", err)
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, nil, fmt.Errorf("the line is not a JSON object: %w", err)
		}
		names, values = append(names, fmt.Sprint(name)), append(values, value)
	}
	return names, values, nil
}

func jsonType(value json.RawMessage) string {
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "list"
	case '"':
		return "text"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}
