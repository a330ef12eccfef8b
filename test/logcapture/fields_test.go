package logcapture_test

import (
	"strings"
	"testing"

	"github.com/karpenter-anew/karpenter/test/logcapture"
)

func TestFields(t *testing.T) {
	line := func(message, rest string) string {
		return `{"level":"INFO","time":"2026-01-02T03:04:05.678Z","logger":"controller","message":"` + message + `","commit":"abc1234",` + rest + "}\n"
	}
	claim := func(step, name string) string {
		return line(step+" nodeclaim", `"controller":"c","reconcileID":"1","NodeClaim":{"name":"`+name+`"}`)
	}
	for name, c := range map[string]struct{ log, problem string }{
		"a life":                 {claim("created", "a") + claim("launched", "a") + claim("registered", "a") + claim("initialized", "a"), ""},
		"a launch after restart": {claim("launched", "a"), ""},
		"lines that are no JSON": {"panic: oh\n\tmain.go:3\n" + line("x", `"n":1`) + `{"level":"INF`, ""},
		"debug":                  {`{"level":"DEBUG","time":"t","logger":"controller","caller":"a/b.go:1","message":"say \"x\"","commit":"a"}` + "\n", ""},
		"two types":              {line("x", `"n":1`) + line("y", `"n":"1"`), `the field "n" is text, and number in "x"`},
		"null":                   {line("x", `"n":[]`) + line("y", `"n":null`), `is null, and list`},
		"a field twice":          {line("x", `"n":1,"m":2,"n":1`), `"n" appears twice`},
		"another order":          {`{"time":"t","level":"INFO","logger":"c","message":"x","commit":"a"}` + "\n", "does not begin with"},
		"no commit":              {`{"level":"INFO","time":"t","logger":"c","message":"x"}` + "\n", "does not begin with"},
		"a name":                 {line("x", `"NodePool":"default"`), `"NodePool" is text instead of object`},
		"no object":              {line("launched nodeclaim", `"controller":"c","reconcileID":"1","name":"a"`), "no query for upstream's log"},
		"no reconcile":           {line("launched nodeclaim", `"controller":"c","NodeClaim":{"name":"a"}`), "reconcileID is missing"},
		"launch first":           {claim("launched", "a") + claim("created", "a"), "before the creation"},
		"cut in the middle":      {`{"level":` + "\n", "not a JSON object"},
	} {
		var fields logcapture.Fields
		got := strings.Join(fields.Check([]byte(c.log)), "\n")
		if c.problem == "" && got != "" || !strings.Contains(got, c.problem) {
			t.Errorf("%s: %q, want %q", name, got, c.problem)
		}
	}
}

func TestFieldsOfSeveralProcesses(t *testing.T) {
	var fields logcapture.Fields
	begin := `{"level":"INFO","time":"t","logger":"c","message":"x","commit":"a",`
	if got := fields.Check([]byte(begin + `"n":1}` + "\n")); len(got) > 0 {
		t.Error(got)
	}
	if got := fields.Check([]byte(begin + `"n":"1"}` + "\n")); len(got) != 1 {
		t.Errorf("%d problems, want 1", len(got))
	}
}
