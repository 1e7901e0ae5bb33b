"""sacctmgr: shows users and their accounts. berth has no tree of accounts to change."""
from . import accounts, jobs
from .options import Table, Usage

TABLE = Table("sacctmgr", """noheader n
parsable2 P
parsable p
immediate i
associations s
oneliner o
quiet Q
readonly r
verbose v""")

WIDTHS = {"User": 10, "DefaultAccount": 10, "AdminLevel": 9, "Cluster": 10, "Account": 10,
          "Partition": 10, "Share": 9, "QOS": 20, "DefaultQOS": 9, "Name": 10, "Descr": 20,
          "Organization": 20}
# What is shown of each entity unless `format=` says.
ENTITIES = {"user": "User,DefaultAccount,AdminLevel", "account": "Account,Descr,Organization",
            "association": "Cluster,Account,User,Partition,Share,QOS,DefaultQOS",
            "cluster": "Cluster", "qos": "Name"}
WITH_ACCOUNTS = "withassoc"


def entity_of(word):
    for entity in ENTITIES:
        if word and entity.startswith(word.lower().rstrip("s")):
            return entity
    raise Usage("sacctmgr: error: No valid entity in list command")


def asked_of(words):
    """(users, format or "", whether all accounts of each are wanted)"""
    users, form, is_all = [], "", False
    for word in words:
        key, equals, value = word.lower().partition("=")
        if equals and "format".startswith(key):
            form = word.partition("=")[2]
        elif word.lower().startswith(WITH_ACCOUNTS):
            is_all = True
        elif key.rstrip("s") in ("user", "name") and equals:
            users += word.partition("=")[2].split(",")
        elif not equals and key != "where":
            users += word.split(",")
    return users, form, is_all


def rows_of(entity, users, is_all):
    if entity in ("cluster", "qos"):
        return [{"Cluster": jobs.CLUSTER, "Name": jobs.QOS}]
    users = users if users and entity != "account" else [jobs.me()]
    return [{"User": user, "DefaultAccount": jobs.ACCOUNT, "AdminLevel": "None",
             "Cluster": jobs.CLUSTER, "Account": account, "Share": "1", "QOS": jobs.QOS,
             "Descr": account, "Organization": account}
            for user in users
            for account in (accounts.of_user(user) if is_all else [jobs.ACCOUNT])]


def run(arguments):
    options, words = TABLE.read(arguments)
    verb = (words or ["a command on standard input"])[0].lower()
    if verb not in ("show", "list"):
        raise Usage("sacctmgr: error: %s is not supported: berth has no accounts to change; sbatch "
                    "takes any name for one" % verb)
    entity = entity_of(words[1] if len(words) > 1 else "")
    users, form, is_all = asked_of(words[2:])
    is_all = is_all or entity != "user" or "associations" in options
    accounts.show(accounts.columns("sacctmgr", form or ENTITIES[entity], WIDTHS),
                  rows_of(entity, users, is_all), options)
    return 0
