// Package naming holds the names and ids of what the provider creates on Azure.
//
// A NodeClaim becomes a virtual machine in one of two ways: the provider creates the virtual machine itself, with its network interface and
// disk, or it creates an AKSMachine, a resource of AKS, and AKS creates the virtual machine.
//
// Source: Azure provider specification, names, provider id.
package naming

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mitchellh/hashstructure/v2"
)

const (
	// vmPrefix begins the names of virtual machines, vmSuffix ends those that AKS gives to the virtual machine of an AKSMachine.
	vmPrefix = "aks-"
	vmSuffix = "-vm"
	// maxAKSMachineName is the most characters of the name of an AKSMachine, hashLength is how many of them are a hash if the name of the
	// NodeClaim is longer.
	maxAKSMachineName = 34
	hashLength        = 6
	// maxVM is the most characters that Azure takes for the name of a virtual machine with Linux.
	maxVM = 64
)

// CheckVM returns an error if Azure would refuse the name of the virtual machine of a NodeClaim.
//
// Source: Azure provider specification, safer behavior, names of more than 64 characters.
func CheckVM(nodeClaim string) error {
	if most := maxVM - len(vmPrefix); len(nodeClaim) > most {
		return fmt.Errorf("the name %q has %d characters, with which a virtual machine cannot be named: the NodePool needs a shorter name, so that those of its NodeClaims have at most %d", nodeClaim, len(nodeClaim), most)
	}
	return nil
}

// VM returns the name of the virtual machine, the network interface and the disk that the provider creates for a NodeClaim.
func VM(nodeClaim string) string { return vmPrefix + nodeClaim }

// NodeClaimOfVM returns the name of the NodeClaim of a virtual machine that the provider created. It is false for other names.
func NodeClaimOfVM(vm string) (string, bool) {
	name, ok := strings.CutPrefix(vm, vmPrefix)
	return name, ok && name != ""
}

// AKSMachine returns the name of the AKSMachine of a NodeClaim: that of the NodeClaim if it has at most 34 characters, else one of 34
// characters in which a hash replaces the end of what is before the last dash. A long name without a dash, or with so much behind the last
// dash that no space is left for the hash, is an error.
//
// Existing clusters have such names: they depend on the version of the hash.
func AKSMachine(nodeClaim string) (string, error) {
	if len(nodeClaim) <= maxAKSMachineName {
		return nodeClaim, nil
	}
	dash := strings.LastIndexByte(nodeClaim, '-')
	if dash < 0 {
		return "", fmt.Errorf("naming the AKSMachine of nodeclaim %q: the name has more than %d characters and no dash", nodeClaim, maxAKSMachineName)
	}
	prefix, suffix := nodeClaim[:dash], nodeClaim[dash:]
	keep := maxAKSMachineName - len(suffix) - hashLength
	if keep < 0 {
		return "", fmt.Errorf("naming the AKSMachine of nodeclaim %q: the name has more than %d characters, and more than %d of them from the last dash on",
			nodeClaim, maxAKSMachineName, maxAKSMachineName-hashLength)
	}
	sum, err := hashstructure.Hash(prefix[keep:], hashstructure.FormatV2, nil)
	if err != nil {
		return "", fmt.Errorf("naming the AKSMachine of nodeclaim %q: %w", nodeClaim, err)
	}
	hash := strings.Repeat("0", hashLength) + strconv.FormatUint(sum, 36)
	return prefix[:keep] + hash[len(hash)-hashLength:] + suffix, nil
}

// AKSMachineOfVM returns the name of the AKSMachine of a virtual machine, given the name of the agent pool that holds the AKSMachines. It is
// false for virtual machines that AKS did not create for an AKSMachine of the pool.
func AKSMachineOfVM(vm, pool string) (string, bool) {
	name, ok := strings.CutPrefix(vm, vmPrefix+pool+"-")
	if !ok || pool == "" {
		return "", false
	}
	if name, ok = strings.CutSuffix(name, vmSuffix); !ok {
		return "", false
	}
	// AKS adds eight characters behind the last dash.
	dash := strings.LastIndexByte(name, '-')
	if dash <= 0 {
		return "", false
	}
	return name[:dash], true
}
