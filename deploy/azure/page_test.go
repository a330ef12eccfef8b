package azure_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThePageDescribesTheRoles checks docs/azure-permissions.md: the section of each role has a row for each of its operations, and no others.
func TestThePageDescribesTheRoles(t *testing.T) {
	page := readPage(t, "azure-permissions.md")
	got := map[string][]string{}
	role := ""
	for line := range strings.Lines(page) {
		if heading, ok := strings.CutPrefix(line, "### "); ok {
			role = strings.ToLower(strings.TrimSpace(heading))
		} else if strings.HasPrefix(line, "## ") {
			role = ""
		}
		if row := regexp.MustCompile("^\\| `(Microsoft[^`]+)` \\| .+ \\|").FindStringSubmatch(line); row != nil && role != "" {
			got[role] = append(got[role], row[1])
		}
	}
	all := given("virtualNetworkName", "vnet", "virtualNetworkResourceGroup", "net", "diskEncryptionSetName", "des", "diskEncryptionSetResourceGroup", "keys")
	all["sharedGalleries"], all["aksMachines"] = true, true
	want := map[string][]string{}
	for _, r := range of(deploy(t, all), "Microsoft.Authorization/roleDefinitions") {
		name := strings.ToLower(strings.Fields(r.properties["roleName"].(string))[1])
		want[name] = actions(t, r)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("operations (-template +page):\n%s", diff)
	}
	for name := range readTemplate(t).Parameters {
		if strings.Contains(name, "Name") && !strings.HasPrefix(name, "cluster") && !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page does not describe the parameter %s", name)
		}
	}
}

// TestCommandsOfThePageFitTheTemplate checks the deployment of docs/getting-started-azure.md: it gives every parameter that has no default,
// and none that does not exist.
func TestCommandsOfThePageFitTheTemplate(t *testing.T) {
	page := strings.ReplaceAll(readPage(t, "getting-started-azure.md"), "\\\n", " ")
	commands := 0
	for line := range strings.Lines(page) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "az deployment sub create ") {
			continue
		}
		commands++
		if !strings.Contains(line, " --template-file deploy/azure/karpenter.json ") {
			t.Errorf("%s deploys another template", line)
		}
		_, parameters, _ := strings.Cut(line, " --parameters ")
		var names []string
		for _, found := range regexp.MustCompile(`(?:^| )([a-zA-Z]+)=`).FindAllStringSubmatch(parameters, -1) {
			names = append(names, found[1])
		}
		for name, p := range readTemplate(t).Parameters {
			if p.DefaultValue == nil && !slices.Contains(names, name) {
				t.Errorf("%s does not give %s", line, name)
			}
		}
		for _, name := range names {
			if _, ok := readTemplate(t).Parameters[name]; !ok {
				t.Errorf("%s gives %s, which the template does not have", line, name)
			}
		}
	}
	if commands != 1 {
		t.Errorf("the page has %d deployments", commands)
	}
}
