#!/bin/sh
# Prints the values of the chart karpenter for an AKS cluster, as YAML. It changes nothing. It needs az, logged in to the subscription of the
# cluster, and kubectl, whose current context is the cluster. The identity is that of deploy/azure/karpenter.json.
#
# Usage: deploy/azure/values.sh CLUSTER RESOURCE-GROUP FILE-OF-THE-SSH-PUBLIC-KEY > karpenter-values.yaml
set -eu

if [ $# -ne 3 ]; then
  echo "usage: $0 CLUSTER RESOURCE-GROUP FILE-OF-THE-SSH-PUBLIC-KEY" >&2
  exit 2
fi
name=$1 group=$2 key_file=$3

fail() {
  echo "$0: $1" >&2
  exit 1
}

# ask prints one value; an absent one is empty. Some versions of az print "None" for it.
ask() {
  answer=$(az "$@" --output tsv)
  [ "$answer" = None ] || printf '%s' "$answer"
}

cluster() { ask aks show --name "$name" --resource-group "$group" --query "$1"; }

# text prints a value as YAML.
text() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/''/g")"; }

variable() { printf '    - {name: %s, value: %s}\n' "$1" "$(text "$2")"; }

[ -r "$key_file" ] || fail "the file of the SSH public key, $key_file, cannot be read"
key=$(cat "$key_file")
case $key in
ssh-* | ecdsa-*) ;;
*) fail "$key_file is not a public key: it does not begin with the type of the key" ;;
esac

nodes=$(cluster nodeResourceGroup)
[ -n "$nodes" ] || fail "the cluster $name has no resource group of nodes"
location=$(cluster location)
subscription=$(ask account show --query id)
client=$(ask identity show --name "karpenter-$name" --resource-group "$group" --query clientId)
endpoint=$(kubectl config view --minify --output 'jsonpath={.clusters[0].cluster.server}')
[ -n "$endpoint" ] || fail "the current context of kubectl has no cluster: run az aks get-credentials --name $name --resource-group $group"

# The subnet is that of the first agent pool, or the first one of the network that AKS created.
subnet=$(cluster 'agentPoolProfiles[0].vnetSubnetId')
if [ -n "$subnet" ]; then
  guid=$(ask network vnet show --ids "${subnet%/subnets/*}" --query resourceGuid)
else
  subnet=$(ask network vnet list --resource-group "$nodes" --query '[0].subnets[0].id')
  guid=$(ask network vnet list --resource-group "$nodes" --query '[0].resourceGuid')
fi
[ -n "$subnet" ] || fail "there is no virtual network in the resource group $nodes"

plugin=$(cluster networkProfile.networkPlugin)
mode=$(cluster networkProfile.networkPluginMode)
policy=$(cluster networkProfile.networkPolicy)
dataplane=$(cluster networkProfile.networkDataplane)
identity=$(cluster identityProfile.kubeletidentity.resourceId)
kubelet=$(cluster identityProfile.kubeletidentity.clientId)

# The controller reads the token from the Secret: it is neither in the values nor in the Deployment.
token=$(kubectl get secrets --namespace kube-system --field-selector type=bootstrap.kubernetes.io/token --output 'jsonpath={.items[0].metadata.name}')
[ -n "$token" ] || fail "there is no bootstrap token in the namespace kube-system"

cat <<END
# Values for the cluster $name in the resource group $group.
serviceAccount:
  annotations:
    azure.workload.identity/client-id: $(text "$client")
podLabels:
  azure.workload.identity/use: "true"
settings:
  cloudProvider: azure
  clusterName: $(text "$name")
  clusterEndpoint: $(text "$endpoint")
controller:
  env:
    - {name: BOOTSTRAP_TOKEN_ID, valueFrom: {secretKeyRef: {name: $(text "$token"), key: token-id}}}
    - {name: BOOTSTRAP_TOKEN_SECRET, valueFrom: {secretKeyRef: {name: $(text "$token"), key: token-secret}}}
    - {name: KUBELET_BOOTSTRAP_TOKEN, value: \$(BOOTSTRAP_TOKEN_ID).\$(BOOTSTRAP_TOKEN_SECRET)}
END
variable ARM_SUBSCRIPTION_ID "$subscription"
variable LOCATION "$location"
variable ARM_RESOURCE_GROUP "$group"
variable AZURE_NODE_RESOURCE_GROUP "$nodes"
variable VNET_SUBNET_ID "$subnet"
variable VNET_GUID "$guid"
variable NETWORK_PLUGIN "$plugin"
variable NETWORK_PLUGIN_MODE "$mode"
variable NETWORK_POLICY "$policy"
variable NETWORK_DATAPLANE "$dataplane"
variable NODE_IDENTITIES "$identity"
variable KUBELET_IDENTITY_CLIENT_ID "$kubelet"
variable SSH_PUBLIC_KEY "$key"
