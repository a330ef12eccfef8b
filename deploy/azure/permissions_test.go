package azure_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The scopes that a cluster may have besides the resource group of its nodes and the subscription.
const (
	networkScope    = subscription + "/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/vnet"
	encryptionScope = subscription + "/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/des"
)

// granted are the actions that the identity has by scope, sorted.
func granted(t *testing.T, all []resource) map[string][]string {
	t.Helper()
	roles := map[string]resource{}
	for _, r := range of(all, "Microsoft.Authorization/roleDefinitions") {
		roles[r.in+"/providers/"+r.kind+"/"+r.name] = r
	}
	out := map[string][]string{}
	assigned := map[string]bool{}
	for _, r := range of(all, "Microsoft.Authorization/roleAssignments") {
		id := r.properties["roleDefinitionId"].(string)
		role, ok := roles[id]
		if !ok {
			t.Fatalf("%s is assigned and not defined", id)
		}
		assigned[id] = true
		scope := r.scope
		if scope == "" {
			scope = r.in
		}
		assignable := func(at any) bool { return scope == at || strings.HasPrefix(scope, fmt.Sprint(at)+"/") }
		if !slices.ContainsFunc(role.properties["assignableScopes"].([]any), assignable) {
			t.Errorf("%v cannot be assigned at %s, only at %v", role.properties["roleName"], scope, role.properties["assignableScopes"])
		}
		if who := fmt.Sprint(r.properties["principalId"]); !strings.HasPrefix(who, "principal of "+subscription+"/resourceGroups/rg/providers/"+identityKind) {
			t.Errorf("the role is assigned to %s", who)
		}
		out[scope] = append(out[scope], actions(t, role)...)
	}
	for id, role := range roles {
		if !assigned[id] {
			t.Errorf("role %v is not assigned", role.properties["roleName"])
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// actions are those of a role. Wildcards would permit operations that the provider does not perform.
func actions(t *testing.T, role resource) []string {
	t.Helper()
	var out []string
	for _, p := range role.properties["permissions"].([]any) {
		permission := p.(map[string]any)
		if len(permission) != 2 || len(permission["notActions"].([]any)) != 0 {
			t.Errorf("role %v has %v", role.properties["roleName"], permission)
		}
		for _, a := range permission["actions"].([]any) {
			if strings.Contains(a.(string), "*") {
				t.Errorf("role %v has the wildcard %s", role.properties["roleName"], a)
			}
			out = append(out, a.(string))
		}
	}
	return out
}

// site is a cluster: where its network and its disk encryption set are, and what it uses.
type site struct {
	network    string
	encryption string
	galleries  bool
	// aksMachines is the managed cluster; empty if AKSMachines are not managed.
	aksMachines string
}

// required are the operations that the provider performs in a cluster, by scope, sorted.
func (s site) required(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	seen := map[string]bool{}
	add := func(scope, action string) {
		if scope != "" && !seen[scope+action] {
			seen[scope+action] = true
			out[scope] = append(out[scope], action)
		}
	}
	for _, operations := range []map[operation]string{performed(t), linked(t)} {
		for o := range operations {
			switch {
			case o.action == "Microsoft.ResourceGraph/resources/action":
				// It shows the resources that the identity may read: no operation stands for the query itself.
			case strings.HasPrefix(o.action, "Microsoft.Network/virtualNetworks/"):
				add(s.network, o.action)
			case strings.HasPrefix(o.action, "Microsoft.Compute/diskEncryptionSets/"):
				add(s.encryption, o.action)
			case strings.HasPrefix(o.action, "Microsoft.ContainerService/locations/nodeImageVersions/"):
				if s.galleries {
					add(subscription, o.action)
				}
			case strings.HasPrefix(o.action, "Microsoft.ContainerService/managedClusters/"):
				add(s.aksMachines, o.action)
			case o.inGroup:
				add(nodeGroup, o.action)
			default:
				add(subscription, o.action)
			}
		}
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}

// TestRolesPermitWhatTheProviderDoes compares the permissions of the identity with the operations of the requests that the provider sends,
// and of those to the resources that the requests refer to: none is missing, and none is never used.
func TestRolesPermitWhatTheProviderDoes(t *testing.T) {
	galleries, aksMachines := given(), given()
	galleries["sharedGalleries"], aksMachines["aksMachines"] = true, true
	for name, tc := range map[string]struct {
		site
		parameters map[string]any
	}{
		"a network of AKS": {site{network: nodeGroup}, given()},
		"another network":  {site{network: networkScope}, given("virtualNetworkName", "vnet", "virtualNetworkResourceGroup", "net")},
		"encrypted disks": {
			site{network: nodeGroup, encryption: encryptionScope}, given("diskEncryptionSetName", "des", "diskEncryptionSetResourceGroup", "keys"),
		},
		"shared galleries": {site{network: nodeGroup, galleries: true}, galleries},
		"AKSMachines":      {site{network: nodeGroup, aksMachines: subscription + "/resourceGroups/rg/providers/Microsoft.ContainerService/managedClusters/one"}, aksMachines},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.required(t), granted(t, deploy(t, tc.parameters))); diff != "" {
				t.Errorf("permissions (-operations of the provider +template):\n%s", diff)
			}
		})
	}
}

// TestOperationsAreFound checks what the comparison relies on: requests of every kind are found in the code.
func TestOperationsAreFound(t *testing.T) {
	found := performed(t)
	for action, inGroup := range map[string]bool{
		"Microsoft.Compute/virtualMachines/write": true, "Microsoft.Compute/virtualMachines/extensions/write": true, "Microsoft.Network/networkInterfaces/delete": true,
		"Microsoft.Compute/skus/read": false, "Microsoft.ContainerService/locations/nodeImageVersions/read": false, "Microsoft.ResourceGraph/resources/action": false,
	} {
		if by := found[operation{action, inGroup}]; by == "" {
			t.Errorf("%s is not found, in a resource group: %v", action, inGroup)
		}
	}
	if by := found[operation{"Microsoft.Compute/virtualMachines/read", false}]; by != "" {
		t.Errorf("%s reads virtual machines of the whole subscription", by)
	}
}
