package label

import (
	v1 "github.com/karpenter-anew/karpenter/api/v1"
)

// Annotations of classes and NodeClaims.
const (
	// AnnotationHash holds the static hash of the class, in decimal.
	AnnotationHash = Domain + "/aksnodeclass-hash"
	// AnnotationHashVersion holds the version of the static hash; hashes of different versions are not compared.
	AnnotationHashVersion = Domain + "/aksnodeclass-hash-version"
	// AnnotationInPlaceUpdateHash holds, on NodeClaims, the hash of what is updated without replacing the node.
	AnnotationInPlaceUpdateHash = Domain + "/in-place-update-hash"
	// AnnotationAKSMachineResourceID holds, on NodeClaims, the ARM id of the AKSMachine; NodeClaims without one have none.
	AnnotationAKSMachineResourceID = Domain + "/aks-machine-resource-id"
)

// TerminationFinalizer is on classes while NodeClaims refer to them.
const TerminationFinalizer = Domain + "/termination"

// Tags of Azure resources, whose keys cannot contain a slash.
const (
	// TagCluster holds the name of the cluster.
	TagCluster = Domain + "_cluster"
	// TagNodePool holds the name of the NodePool.
	TagNodePool = v1.Group + "_nodepool"
	// TagBilling is for the billing of AKS; its value is BillingLinux.
	TagBilling   = "compute.aks.billing"
	BillingLinux = "linux"
	// TagAKSMachineNodeClaim holds the name of the NodeClaim, on what the AKSMachine API of AKS manages.
	TagAKSMachineNodeClaim = Domain + "_aksmachine_nodeclaim"
)
