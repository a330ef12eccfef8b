package ecosystem

import (
	"fmt"
	"os"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"go.yaml.in/yaml/v3"
)

// readYAML reads a file of the repository.
func readYAML[T any](t *testing.T, path string, strict bool) T {
	t.Helper()
	file, err := os.Open("../../" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var out T
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(strict)
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return out
}

// health runs a script as Argo CD does: with the libraries base and table only, and the object as the global obj.
func health(t *testing.T, script string, object map[string]any) (status, message string) {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	state.SetGlobal("obj", toLua(state, object))
	if err := state.DoString(script); err != nil {
		t.Fatalf("%v\n%s", err, script)
	}
	result, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		t.Fatalf("the script returns %s", state.Get(-1))
	}
	return result.RawGetString("status").String(), result.RawGetString("message").String()
}

func toLua(state *lua.LState, value any) lua.LValue {
	switch v := value.(type) {
	case map[string]any:
		table := state.NewTable()
		for key, one := range v {
			table.RawSetString(key, toLua(state, one))
		}
		return table
	case []any:
		table := state.NewTable()
		for _, one := range v {
			table.Append(toLua(state, one))
		}
		return table
	case string:
		return lua.LString(v)
	case int:
		return lua.LNumber(v)
	}
	panic(fmt.Sprintf("%T has no equivalent here", value))
}

// object has conditions, of which those of generation 1 are of an earlier spec.
func object(conditions ...any) map[string]any {
	return map[string]any{"metadata": map[string]any{"name": "a", "generation": 2}, "status": map[string]any{"conditions": conditions}}
}

func condition(kind, status, message string, generation int) map[string]any {
	return map[string]any{"type": kind, "status": status, "reason": "Reason", "message": message, "observedGeneration": generation}
}

func TestHealthInArgoCD(t *testing.T) {
	deleted := object(condition("Ready", "True", "", 2))
	deleted["metadata"].(map[string]any)["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	withoutMessage := condition("Ready", "False", "", 2)
	delete(withoutMessage, "message")
	cases := map[string]struct {
		object          map[string]any
		status, message string
	}{
		"new":               {map[string]any{"metadata": map[string]any{"name": "a"}}, "Progressing", "Waiting for the controller"},
		"without condition": {object(), "Progressing", "Waiting for the controller"},
		"unknown":           {object(condition("Ready", "Unknown", "object is awaiting reconciliation", 2)), "Progressing", "object is awaiting reconciliation"},
		"ready":             {object(condition("Other", "False", "no", 2), condition("Ready", "True", "", 2)), "Healthy", "Ready"},
		"not ready":         {object(condition("Ready", "False", "no subnets", 2)), "Degraded", "no subnets"},
		"only a reason":     {object(withoutMessage), "Degraded", "Reason"},
		"ready before":      {object(condition("Ready", "True", "", 1)), "Progressing", "Waiting for the controller to observe the last change"},
		"deleted":           {deleted, "Progressing", "Deleting"},
	}
	file := readYAML[struct{ Data map[string]string }](t, "examples/argocd/health.yaml", false)
	for _, kind := range []string{"karpenter.sh_NodePool", "karpenter.sh_NodeClaim", "karpenter.k8s.aws_EC2NodeClass", "karpenter.kwok.sh_KWOKNodeClass"} {
		script := file.Data["resource.customizations.health."+kind]
		for name, tc := range cases {
			if status, message := health(t, script, tc.object); status != tc.status || message != tc.message {
				t.Errorf("%s, %s: %s, %q; want %s, %q", kind, name, status, message, tc.status, tc.message)
			}
		}
	}
	broken := object(condition("Ready", "True", "", 2), condition("BudgetsValid", "False", "a schedule is wrong", 2))
	if status, message := health(t, file.Data["resource.customizations.health.karpenter.sh_NodePool"], broken); status != "Degraded" || message != "BudgetsValid is False: a schedule is wrong" {
		t.Errorf("a NodePool with a wrong budget is %s, %q", status, message)
	}
	if len(file.Data) != 4 {
		t.Errorf("%d scripts were found", len(file.Data))
	}
}
