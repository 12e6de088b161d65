"""Operations behind the commands, on a running platform, its log and its databases."""
