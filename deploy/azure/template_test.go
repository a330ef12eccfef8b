// Package azure_test checks the template for an Azure subscription: that its roles permit the operations that the provider performs and no
// others, on the resources that it performs them on, and that the credential is that of the chart.
package azure_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What the template of these tests is deployed with.
const (
	subscription = "/subscriptions/00000000-0000-0000-0000-000000000001"
	nodeGroup    = subscription + "/resourceGroups/MC_one"
	issuer       = "https://eastus.oic.prod-aks.azure.com/tenant/id/"
)

// given are the parameters that have no default.
func given(more ...string) map[string]any {
	out := map[string]any{"clusterName": "one", "clusterResourceGroup": "rg", "nodeResourceGroup": "MC_one", "location": "eastus", "oidcIssuerURL": issuer}
	for i := 0; i < len(more); i += 2 {
		out[more[i]] = more[i+1]
	}
	return out
}

// template is a template of Azure Resource Manager, as far as this one needs it.
type template struct {
	Parameters map[string]struct {
		Type         string `json:"type"`
		DefaultValue any    `json:"defaultValue"`
	} `json:"parameters"`
	Variables map[string]any   `json:"variables"`
	Resources []map[string]any `json:"resources"`
	Outputs   map[string]struct {
		Value any `json:"value"`
	} `json:"outputs"`
}

func readTemplate(t *testing.T) template {
	t.Helper()
	text, err := os.ReadFile("karpenter.json")
	if err != nil {
		t.Fatal(err)
	}
	var out template
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// resource is a resource that a deployment creates.
type resource struct {
	kind, name string
	// in is the ARM id of the resource group or the subscription of the deployment, scope that of the resource that it extends; empty for in.
	in, scope  string
	properties map[string]any
}

// deployment evaluates a template, as Azure Resource Manager does.
type deployment struct {
	t          *testing.T
	in         string
	parameters map[string]any
	template   template
	// used are the names of parameters and variables that an expression reads.
	used map[string]bool
	// outputs are those of deployments before, by name.
	outputs map[string]any
}

// deploy returns all resources of the template and of those that are nested in it.
func deploy(t *testing.T, parameters map[string]any) []resource {
	t.Helper()
	d := &deployment{t: t, in: subscription, parameters: parameters, template: readTemplate(t), used: map[string]bool{}, outputs: map[string]any{}}
	return d.run()
}

func (d *deployment) run() []resource {
	d.t.Helper()
	for name, p := range d.template.Parameters {
		if _, ok := d.parameters[name]; !ok && p.DefaultValue == nil {
			d.t.Errorf("parameter %s has no value", name)
		} else if !ok {
			d.parameters[name] = p.DefaultValue
		}
	}
	for name := range d.parameters {
		if _, ok := d.template.Parameters[name]; !ok {
			d.t.Errorf("there is no parameter %s", name)
		}
	}
	var out []resource
	// Deployments that others refer to come first.
	for _, nested := range []bool{true, false} {
		for _, r := range d.template.Resources {
			isIdentity := r["type"] == "Microsoft.Resources/deployments" && strings.Contains(fmt.Sprint(r["name"]), "identity")
			if isIdentity == nested {
				out = append(out, d.resource(r)...)
			}
		}
	}
	for _, o := range d.template.Outputs {
		d.value(o.Value)
	}
	for name := range d.template.Parameters {
		if !d.used["parameters "+name] {
			d.t.Errorf("parameter %s is not used", name)
		}
	}
	for name := range d.template.Variables {
		if !d.used["variables "+name] {
			d.t.Errorf("variable %s is not used", name)
		}
	}
	return out
}

// resource returns what a resource of the template creates: itself, or the resources of a nested deployment.
func (d *deployment) resource(r map[string]any) []resource {
	d.t.Helper()
	wanted := true
	if condition, ok := r["condition"]; ok {
		wanted = d.value(condition) == true
	}
	if r["apiVersion"] == "" || r["type"] == "" {
		d.t.Errorf("resource %v has no type or version", r)
	}
	// Azure evaluates these whether or not the condition holds.
	out := resource{kind: r["type"].(string), name: d.value(r["name"]).(string), in: d.in}
	d.value(r["dependsOn"])
	d.value(r["location"])
	if scope, ok := r["scope"]; ok {
		out.scope = d.in + "/providers/" + d.value(scope).(string)
	}
	if out.kind != "Microsoft.Resources/deployments" {
		out.properties, _ = d.value(r["properties"]).(map[string]any)
		if !wanted {
			return nil
		}
		return []resource{out}
	}
	nested := &deployment{t: d.t, in: subscription + "/resourceGroups/" + d.value(r["resourceGroup"]).(string), parameters: map[string]any{}, used: map[string]bool{}, outputs: map[string]any{}}
	properties := r["properties"].(map[string]any)
	if properties["expressionEvaluationOptions"].(map[string]any)["scope"] != "inner" {
		d.t.Errorf("the expressions of %s belong to the outer template", out.name)
	}
	for name, p := range properties["parameters"].(map[string]any) {
		nested.parameters[name] = d.value(p.(map[string]any)["value"])
	}
	text, err := json.Marshal(properties["template"])
	if err != nil {
		d.t.Fatal(err)
	}
	if err := json.Unmarshal(text, &nested.template); err != nil {
		d.t.Fatal(err)
	}
	created := nested.run()
	outputs := map[string]any{}
	for name, o := range nested.template.Outputs {
		outputs[name] = map[string]any{"value": nested.value(o.Value)}
	}
	d.outputs[out.name] = map[string]any{"outputs": outputs}
	if !wanted {
		return nil
	}
	return created
}

// value evaluates the expressions in a value.
func (d *deployment) value(v any) any {
	d.t.Helper()
	switch v := v.(type) {
	case string:
		if strings.HasPrefix(v, "[") {
			rest := strings.TrimSuffix(strings.TrimPrefix(v, "["), "]")
			out, rest := d.expression(rest)
			if rest != "" {
				d.t.Fatalf("%s: %q is left", v, rest)
			}
			return out
		}
	case []any:
		var out []any
		for _, item := range v {
			out = append(out, d.value(item))
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[key] = d.value(item)
		}
		return out
	}
	return v
}

// expression evaluates the expression at the beginning of a text, and returns what follows it.
func (d *deployment) expression(text string) (value any, rest string) {
	d.t.Helper()
	text = strings.TrimLeft(text, " ")
	if literal := regexp.MustCompile(`^'([^']*)'`).FindStringSubmatch(text); literal != nil {
		return literal[1], text[len(literal[0]):]
	}
	name := regexp.MustCompile(`^[a-zA-Z]+\(`).FindString(text)
	if name == "" {
		d.t.Fatalf("%q is no expression", text)
	}
	rest = text[len(name):]
	var arguments []any
	for !strings.HasPrefix(rest, ")") {
		var argument any
		argument, rest = d.expression(strings.TrimLeft(rest, ", "))
		arguments = append(arguments, argument)
	}
	value, rest = d.call(strings.TrimSuffix(name, "("), arguments), rest[1:]
	for {
		property := regexp.MustCompile(`^\.([a-zA-Z]+)`).FindStringSubmatch(rest)
		if property == nil {
			return value, rest
		}
		found, ok := value.(map[string]any)[property[1]]
		if !ok {
			d.t.Fatalf("%s: there is no %s", text, property[1])
		}
		value, rest = found, rest[len(property[0]):]
	}
}

// call evaluates a function.
func (d *deployment) call(name string, arguments []any) any {
	d.t.Helper()
	text := func(i int) string { return fmt.Sprint(arguments[i]) }
	switch name {
	case "parameters", "variables":
		d.used[name+" "+text(0)] = true
		if v, ok := d.parameters[text(0)]; ok && name == "parameters" {
			return v
		}
		if v, ok := d.template.Variables[text(0)]; ok && name == "variables" {
			return d.value(v)
		}
		d.t.Fatalf("there is no %s of %s", text(0), name)
	case "subscription":
		return map[string]any{"id": subscription}
	case "resourceGroup":
		return map[string]any{"id": d.in}
	case "empty":
		return text(0) == ""
	case "not":
		return arguments[0] != true
	case "if":
		if arguments[0] == true {
			return arguments[1]
		}
		return arguments[2]
	case "format":
		out := text(0)
		for i := 1; i < len(arguments); i++ {
			out = strings.ReplaceAll(out, fmt.Sprintf("{%d}", i-1), text(i))
		}
		return out
	case "guid", "uniqueString":
		return fmt.Sprintf("%s-%x", name, sha256.Sum256([]byte(fmt.Sprint(arguments...))))[:24]
	case "subscriptionResourceId", "resourceId":
		prefix := map[string]string{"subscriptionResourceId": subscription, "resourceId": d.in}[name]
		return prefix + "/providers/" + text(0) + "/" + text(1)
	case "reference":
		if out, ok := d.outputs[text(0)]; ok {
			return out
		}
		return map[string]any{"clientId": "client of " + text(0), "principalId": "principal of " + text(0)}
	}
	d.t.Fatalf("the function %s is not known here", name)
	return nil
}

// of are the resources of a type.
func of(all []resource, kind string) []resource {
	return slices.DeleteFunc(slices.Clone(all), func(r resource) bool { return r.kind != kind })
}

const identityKind = "Microsoft.ManagedIdentity/userAssignedIdentities"

// TestTheCredentialIsThatOfTheChart checks whom the identity trusts: the service account that the chart creates.
func TestTheCredentialIsThatOfTheChart(t *testing.T) {
	for name, tc := range map[string]struct {
		more []string
		want string
	}{
		"the account of the chart": {nil, "system:serviceaccount:kube-system:karpenter"},
		"another account":          {[]string{"namespace", "infra", "serviceAccount", "karpenter-sa"}, "system:serviceaccount:infra:karpenter-sa"},
	} {
		all := deploy(t, given(tc.more...))
		credentials, identities := of(all, identityKind+"/federatedIdentityCredentials"), of(all, identityKind)
		if len(credentials) != 1 || len(identities) != 1 {
			t.Fatalf("%s: %v", name, all)
		}
		got := credentials[0]
		if got.properties["issuer"] != issuer || got.properties["subject"] != tc.want || fmt.Sprint(got.properties["audiences"]) != "[api://AzureADTokenExchange]" {
			t.Errorf("%s: the credential is %v, want the subject %s", name, got.properties, tc.want)
		}
		if got.name != identities[0].name+"/karpenter" || identities[0].name != "karpenter-one" || identities[0].in != subscription+"/resourceGroups/rg" {
			t.Errorf("%s: the identity is %+v, the credential %s", name, identities[0], got.name)
		}
	}
}

// TestNamesDifferBetweenClusters: roles have names in the tenant, and assignments in their scope.
func TestNamesDifferBetweenClusters(t *testing.T) {
	names := func(more ...string) map[string]bool {
		out := map[string]bool{}
		for _, r := range deploy(t, given(more...)) {
			key := r.in + r.kind + r.name
			if out[key] {
				t.Errorf("%s is there twice", key)
			}
			out[key] = true
			if role, ok := r.properties["roleName"].(string); ok {
				out[role] = true
			}
		}
		return out
	}
	first := names()
	for name := range names("clusterName", "two") {
		if first[name] {
			t.Errorf("two clusters have %s", name)
		}
	}
	if !maps.Equal(first, names()) {
		t.Error("a second deployment has other names")
	}
}
