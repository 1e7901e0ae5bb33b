"""sshare: the accounts of users. There are no shares: `berth usage` has what each user had."""
from . import accounts, jobs
from .options import Table, Usage, listed

TABLE = Table("sshare", """noheader n
parsable2 P
parsable p
format= o
users= u
Users U
accounts= A
all a
long l
clusters= M
partition m
verbose v""")

WIDTHS = {"Account": 20, "User": 10, "Cluster": 10, "RawShares": 10, "NormShares": 11,
          "RawUsage": 11, "EffectvUsage": 13, "FairShare": 10}
USUAL = "Account,User,RawShares,NormShares,RawUsage,EffectvUsage,FairShare"


def run(arguments):
    options, rest = TABLE.read(arguments)
    if rest:
        raise Usage("sshare: error: Unrecognized option: %s" % rest[0])
    wanted = listed(options, "accounts")
    rows = [{"Account": account, "User": user, "Cluster": jobs.CLUSTER}
            for user in listed(options, "users") or [jobs.me()]
            for account in accounts.of_user(user) if not wanted or account in wanted]
    accounts.show(accounts.columns("sshare", options.get("format", USUAL), WIDTHS), rows, options)
    return 0
