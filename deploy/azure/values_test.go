package azure_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/values.yaml")

// stubbed has the file with what commands answer, in processes that stand for az and kubectl.
const stubbed = "STUB_ANSWERS"

func TestMain(m *testing.M) {
	if answers := os.Getenv(stubbed); answers != "" {
		if err := stub(os.Stdout, answers, os.Args[1:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// answers are what az and kubectl know, by command: objects as they print them in JSON.
type answers struct {
	Commands map[string]any `json:"commands"`
	// Refused are commands that fail.
	Refused []string `json:"refused"`
}

// stub answers a command as az or kubectl does: with the part of an object that it asks for, and nothing for a part that is not there.
func stub(out io.Writer, file string, args []string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var known answers
	if err := json.Unmarshal(text, &known); err != nil {
		return err
	}
	words := slices.IndexFunc(args, func(a string) bool { return strings.HasPrefix(a, "-") })
	command := strings.Join(args[:words], " ")
	answer, ok := known.Commands[command]
	if !ok || slices.Contains(known.Refused, command) {
		return fmt.Errorf("ERROR: no answer to %q", args)
	}
	flags := map[string]string{}
	for i := words; i+1 < len(args); i++ {
		flags[args[i]] = args[i+1]
	}
	if err := checkFlags(command, flags); err != nil {
		return err
	}
	path := flags["--query"]
	if slices.Contains(known.Refused, command+" "+path) {
		return fmt.Errorf("ERROR: no answer to %q", args)
	}
	if query, ok := strings.CutPrefix(flags["--output"], "jsonpath={."); ok {
		path = strings.TrimSuffix(query, "}")
	} else if flags["--output"] != "tsv" {
		return fmt.Errorf("ERROR: %q prints no plain text", args)
	}
	for _, step := range regexp.MustCompile(`[A-Za-z]+|\[[0-9]+\]`).FindAllString(path, -1) {
		if index, err := strconv.Atoi(strings.Trim(step, "[]")); err == nil {
			list, _ := answer.([]any)
			if index >= len(list) {
				return nil
			}
			answer = list[index]
			continue
		}
		object, _ := answer.(map[string]any)
		answer = object[step]
	}
	if answer != nil {
		_, err = fmt.Fprintln(out, answer)
	}
	return err
}

// checkFlags checks that a command asks for what the test knows.
func checkFlags(command string, flags map[string]string) error {
	want := map[string]map[string]string{
		"aks show":          {"--name": "one", "--resource-group": "rg"},
		"account show":      {},
		"identity show":     {"--name": "karpenter-one", "--resource-group": "rg"},
		"network vnet list": {"--resource-group": "MC_rg_one_eastus"},
		"network vnet show": {"--ids": strings.TrimSuffix(customSubnet, "/subnets/nodes")},
		"config view":       {},
		"get secrets":       {"--namespace": "kube-system", "--field-selector": "type=bootstrap.kubernetes.io/token"},
	}[command]
	for flag, value := range want {
		if flags[flag] != value {
			return fmt.Errorf("ERROR: %s with %s %q, want %q", command, flag, flags[flag], value)
		}
	}
	return nil
}

// customSubnet is a subnet that AKS has not created.
const customSubnet = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet/subnets/nodes"

// printValues runs the script with these answers.
func printValues(t *testing.T, known answers, key string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, text []byte, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), text, mode); err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(known)
	if err != nil {
		t.Fatal(err)
	}
	write("answers.json", text, 0o600)
	write("key.pub", []byte(key), 0o600)
	for _, name := range []string{"az", "kubectl"} {
		write(name, fmt.Appendf(nil, "#!/bin/sh\n%s=%s/answers.json exec %s \"$@\"\n", stubbed, dir, self), 0o700)
	}
	command := exec.CommandContext(t.Context(), "./values.sh", "one", "rg", filepath.Join(dir, "key.pub"))
	command.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	var out, problems bytes.Buffer
	command.Stdout, command.Stderr = &out, &problems
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%w: %s", err, problems.String())
	}
	return out.String(), nil
}

// theCluster is what az and kubectl know of the cluster of these tests.
func theCluster(t *testing.T) answers {
	t.Helper()
	text, err := os.ReadFile("testdata/cluster.json")
	if err != nil {
		t.Fatal(err)
	}
	var out answers
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

const sshKey = "ssh-rsa AAAA it's@example.com\n"

// TestValuesOfACluster compares the values for a cluster with testdata/values.yaml, which tests of the chart render.
func TestValuesOfACluster(t *testing.T) {
	got, err := printValues(t, theCluster(t), sshKey)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("testdata/values.yaml", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-file +script); if it is meant, run the test with -update:\n%s", diff)
	}
}

// TestValuesOfOtherClusters: the network plugin none stays, and what a cluster does not have is the empty text.
func TestValuesOfOtherClusters(t *testing.T) {
	known := theCluster(t)
	cluster := known.Commands["aks show"].(map[string]any)
	cluster["networkProfile"] = map[string]any{"networkPlugin": "none", "networkPolicy": "None"}
	cluster["agentPoolProfiles"] = []any{map[string]any{"vnetSubnetId": customSubnet}}
	got, err := printValues(t, known, sshKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"{name: NETWORK_PLUGIN, value: 'none'}", "{name: NETWORK_PLUGIN_MODE, value: ''}", "{name: NETWORK_POLICY, value: ''}", "{name: NETWORK_DATAPLANE, value: ''}",
		"{name: VNET_SUBNET_ID, value: '" + customSubnet + "'}", "{name: VNET_GUID, value: '44444444-4444-4444-4444-444444444444'}",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the values lack %s:\n%s", want, got)
		}
	}
}

// TestValuesThatAreMissing: the script ends with an error that says what to do, and prints no values.
func TestValuesThatAreMissing(t *testing.T) {
	for name, tc := range map[string]struct {
		key    string
		change func(*answers)
		want   string
	}{
		"no token":      {sshKey, func(a *answers) { a.Commands["get secrets"] = map[string]any{"items": []any{}} }, "there is no bootstrap token in the namespace kube-system"},
		"no network":    {sshKey, func(a *answers) { a.Commands["network vnet list"] = []any{} }, "there is no virtual network in the resource group MC_rg_one_eastus"},
		"no context":    {sshKey, func(a *answers) { a.Commands["config view"] = map[string]any{} }, "run az aks get-credentials --name one --resource-group rg"},
		"no identity":   {sshKey, func(a *answers) { a.Refused = []string{"identity show"} }, "no answer"},
		"no cluster":    {sshKey, func(a *answers) { a.Refused = []string{"aks show"} }, "no answer"},
		"a private key": {"-----BEGIN OPENSSH PRIVATE KEY-----\n", func(*answers) {}, "key.pub is not a public key"},
		"an empty key":  {"", func(*answers) {}, "key.pub is not a public key"},
		"no node group": {sshKey, func(a *answers) { a.Commands["aks show"].(map[string]any)["nodeResourceGroup"] = nil }, "has no resource group of nodes"},
		"no dataplane": {
			sshKey, func(a *answers) { a.Refused = []string{"aks show networkProfile.networkDataplane"} }, "no answer",
		},
		"no subscription": {sshKey, func(a *answers) { a.Refused = []string{"account show"} }, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			known := theCluster(t)
			tc.change(&known)
			got, err := printValues(t, known, tc.key)
			if err == nil || !strings.Contains(err.Error(), tc.want) || got != "" {
				t.Errorf("error %v, want %q; the script prints %q", err, tc.want, got)
			}
		})
	}
}
