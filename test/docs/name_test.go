package docs

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	awscrds "github.com/karpenter-anew/karpenter/api/aws/crds"
	azurecrds "github.com/karpenter-anew/karpenter/api/azure/crds"
	"github.com/karpenter-anew/karpenter/api/crds"
	kwokcrds "github.com/karpenter-anew/karpenter/api/kwok/crds"
)

// reference is a page that is generated from the code.
func reference(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "docs/reference", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestMetricsExist(t *testing.T) {
	metric := regexp.MustCompile(`\b(?:karpenter|operator|client_go|aws_sdk_go)_[a-z_]+\*?`)
	known := metric.FindAllString(reference(t, "metrics.md"), -1)
	for _, p := range pages(t) {
		if strings.HasPrefix(p.name, "charts/") {
			continue
		}
		for _, name := range metric.FindAllString(p.text, -1) {
			prefix, several := strings.CutSuffix(name, "*")
			several = several || strings.HasSuffix(prefix, "_")
			if !slices.ContainsFunc(known, func(k string) bool { return k == name || several && strings.HasPrefix(k, prefix) }) {
				t.Errorf("%s: there is no metric %s", p.name, name)
			}
		}
	}
}

func TestVariablesExist(t *testing.T) {
	// Variables of others, of Go, and of make.
	others := []string{"KARPENTER_BIN", "CONTROL_PLANE", "RELEASE_SIGNING_KEY", "CAPABILITY_NAMED_IAM", "EC2_LINUX", "EC2_WINDOWS", "SSL_CERT_DIR", "HTTPS_PROXY"}
	variable := regexp.MustCompile(`^[A-Z][A-Z0-9]*_[A-Z0-9_]+$`)
	settings := reference(t, "settings.md")
	for _, p := range pages(t) {
		for _, code := range p.codes() {
			name, _, _ := strings.Cut(code, "=")
			if variable.MatchString(name) && !strings.Contains(settings, "`"+name+"`") && !strings.Contains(sources(), `"`+name+`"`) && !slices.Contains(others, name) {
				t.Errorf("%s: there is no variable %s", p.name, name)
			}
		}
	}
}

// TestLabelsExist checks what has a domain of ours: labels, annotations, taints, finalizers and resources.
func TestLabelsExist(t *testing.T) {
	label := regexp.MustCompile(`\b[a-z0-9.-]*karpenter\.(?:sh|k8s\.aws|azure\.com|kwok\.sh)/([a-z0-9-]+)`)
	for _, p := range pages(t) {
		for _, match := range label.FindAllStringSubmatch(p.text, -1) {
			// The domain may be a separate constant.
			if !strings.Contains(sources(), "/"+match[1]+`"`) && !strings.Contains(sources(), match[0]) && !versions[match[1]] && match[1] != "discovery" {
				t.Errorf("%s: there is no %s", p.name, match[0])
			}
		}
	}
}

// versions stand behind a group, as labels do.
var versions = map[string]bool{"v1": true, "v1beta1": true, "v1alpha1": true, "v1alpha5": true}

// TestNamesExist checks words in camel case: events, conditions, reasons, kinds, fields and their values.
func TestNamesExist(t *testing.T) {
	// Names of Kubernetes and AWS that the code has no word for, names that it puts together, and fields of the benchmark's report.
	others := []string{
		"DynamicResources", "ExactCount", "GenericWorkload", "RestartAllContainers", "SchedulerError", "perDeviceNodeSelection", "ServiceLinkedRoleCreationNotPermitted",
		"CreateFleetAuthCheckFailed", "RunInstancesAuthCheckFailed", "CreateLaunchTemplateAuthCheckFailed", "boundSeconds", "oursGap", "upstreamGap",
	}
	camel := regexp.MustCompile(`^[A-Za-z]+[a-z0-9]+(?:[A-Z][A-Za-z0-9]*)+$`)
	for _, p := range pages(t) {
		for _, code := range p.codes() {
			known := words()[code] || words()[strings.ToUpper(code[:1])+code[1:]]
			if camel.MatchString(code) && !known && !slices.Contains(others, code) {
				t.Errorf("%s: %s is not in the code", p.name, code)
			}
		}
	}
}

// TestFieldsExist checks paths that begin with spec or status.
func TestFieldsExist(t *testing.T) {
	known := fields(t)
	path := regexp.MustCompile(`^(?:spec|status)(?:\.[a-zA-Z]+)+$`)
	for _, p := range pages(t) {
		for _, code := range p.codes() {
			if path.MatchString(code) && !known[code] {
				t.Errorf("%s: no object has %s", p.name, code)
			}
		}
	}
}

// fields are all paths of all kinds, without the brackets of lists.
func fields(t *testing.T) map[string]bool {
	t.Helper()
	// Of pods, workloads, nodes and device classes.
	out := map[string]bool{}
	for _, path := range []string{"nodeSelector", "tolerations", "topologySpreadConstraints", "priorityClassName", "overhead", "providerID", "schedulingGroup", "extendedResourceName"} {
		out["spec."+path] = true
	}
	out["status.declaredFeatures"] = true
	for _, read := range []func() ([]*apiextensionsv1.CustomResourceDefinition, error){awscrds.Definitions, azurecrds.Definitions, kwokcrds.Definitions, crds.Legacy} {
		all, err := read()
		if err != nil {
			t.Fatal(err)
		}
		for _, crd := range all {
			for _, version := range crd.Spec.Versions {
				walk(out, "", version.Schema.OpenAPIV3Schema)
			}
		}
	}
	return out
}

func walk(into map[string]bool, path string, schema *apiextensionsv1.JSONSchemaProps) {
	if schema == nil {
		return
	}
	into[path] = true
	if schema.Items != nil {
		walk(into, path, schema.Items.Schema)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name]
		walk(into, strings.TrimPrefix(path+"."+name, "."), &property)
	}
}
