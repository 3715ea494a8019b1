"""A cluster of ducktape's whose nodes are this machine, without ssh.

ducktape --cluster local.LocalCluster bounce_test.py
"""

import shutil
import subprocess
from pathlib import Path

from ducktape.cluster.cluster_node import ClusterNode
from ducktape.cluster.linux_remoteaccount import LinuxRemoteAccount
from ducktape.cluster.localhost import LocalhostCluster
from ducktape.cluster.remoteaccount import RemoteAccountSSHConfig, RemoteCommandError


class LocalAccount(LinuxRemoteAccount):
    """What the services and ducktape itself use of an account, by a shell of this machine."""

    def ssh(self, cmd, allow_fail=False):
        done = subprocess.run(cmd, shell=True, capture_output=True, text=True, check=False)
        if done.returncode and not allow_fail:
            raise RemoteCommandError(self, cmd, done.returncode, done.stderr or done.stdout)
        return done.returncode

    def isfile(self, path):
        return Path(path).is_file()

    def copy_from(self, src, dest):
        shutil.copy(src, dest)


class LocalCluster(LocalhostCluster):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, num_nodes=0)
        for number in range(1, 10):
            account = LocalAccount(RemoteAccountSSHConfig(f"worker{number}", hostname="localhost"))
            self._available_nodes.add_node(ClusterNode(account))
